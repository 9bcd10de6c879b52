"""Stand-ins for services that the product talks to, speaking the service's own protocol."""
