"""Workers killed in the midst of their work: every document is completed once, as if nothing had happened."""


from core.documents.names import Owner

KILLS = 50
LOT = 20
MOST_SECONDS = 60.0
LONGEST_WORK_SECONDS = 0.25
LEASE_SECONDS = "0.6"
OWNER = Owner("acme", "ann", "c1")
SUBJECTS = ("quay", "crane", "pilot", "tug", "beacon")
TABLES = ("search_terms", "search_passages")
