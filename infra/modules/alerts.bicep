// Alerts and a workbook for the person on duty. docs/operations.md says what each rule means and what to do.
param location string
param tags object
param token string
param logAnalyticsId string
param cosmosId string

@description('Who gets the alerts. Empty: there are no rules.')
param email string

@description('Of the resource group, in the currency of the subscription. 0: no budget.')
param monthlyBudget int
param budgetStart string

// A rule fires if the sum of its measure over 15 minutes is above this number.
var rules = [
  { name: 'failed-turns', title: 'Questions without an answer', measure: 'Failed', above: 5, severity: 1, query: loadTextContent('../queries/failed-turns.kql') }
  { name: 'server-errors', title: 'Server errors', measure: 'Errors', above: 10, severity: 1, query: loadTextContent('../queries/server-errors.kql') }
  { name: 'tools-away', title: 'Tools that do not answer', measure: 'Failed', above: 5, severity: 1, query: loadTextContent('../queries/tools-away.kql') }
  { name: 'waiting-documents', title: 'Oldest document that is not read', measure: 'Oldest', above: 1800, severity: 2, query: loadTextContent('../queries/waiting-documents.kql') }
  { name: 'busy-models', title: 'Calls refused by models', measure: 'Refused', above: 20, severity: 2, query: loadTextContent('../queries/busy-models.kql') }
  { name: 'busy-services', title: 'Calls refused by stores', measure: 'Refused', above: 20, severity: 2, query: loadTextContent('../queries/busy-services.kql') }
]
var shown = concat(rules, [
  { title: 'Documents given up', query: loadTextContent('../queries/given-up-documents.kql') }
  { title: 'Turns and their seconds', query: loadTextContent('../queries/slow-turns.kql') }
  { title: 'Tokens', query: loadTextContent('../queries/tokens.kql') }
])

resource people 'Microsoft.Insights/actionGroups@2023-01-01' = if (!empty(email)) {
  name: 'ag-${token}'
  location: 'global'
  tags: tags
  properties: {
    groupShortName: 'orc'
    enabled: true
    emailReceivers: [{ name: 'duty', emailAddress: email, useCommonAlertSchema: true }]
  }
}

resource rule 'Microsoft.Insights/scheduledQueryRules@2022-06-15' = [for each in rules: if (!empty(email)) {
  name: '${each.name}-${token}'
  location: location
  tags: tags
  properties: {
    displayName: each.title
    description: 'See docs/operations.md, ${each.name}.'
    severity: each.severity
    enabled: true
    scopes: [logAnalyticsId]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT15M'
    autoMitigate: true
    skipQueryValidation: true // a new workspace may not have the tables yet
    criteria: {
      allOf: [
        {
          query: each.query
          metricMeasureColumn: each.measure
          timeAggregation: 'Total'
          operator: 'GreaterThan'
          threshold: each.above
          failingPeriods: { numberOfEvaluationPeriods: 1, minFailingPeriodsToAlert: 1 }
        }
      ]
    }
    actions: { actionGroups: [people.id] }
  }
}]

// What Orc does not see: requests that the client library repeats, and those of other clients.
resource throttled 'Microsoft.Insights/metricAlerts@2018-03-01' = if (!empty(email)) {
  name: 'throttled-cosmos-${token}'
  location: 'global'
  tags: tags
  properties: {
    description: 'See docs/operations.md, throttled-cosmos.'
    severity: 2
    enabled: true
    scopes: [cosmosId]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT15M'
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          criterionType: 'StaticThresholdCriterion'
          name: 'status429'
          metricName: 'TotalRequests'
          dimensions: [{ name: 'StatusCode', operator: 'Include', values: ['429'] }]
          operator: 'GreaterThan'
          threshold: 100
          timeAggregation: 'Count'
        }
      ]
    }
    actions: [{ actionGroupId: people.id }]
  }
}

resource board 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(token, 'workbook')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: 'Orc'
    category: 'workbook'
    sourceId: logAnalyticsId
    serializedData: string({
      version: 'Notebook/1.0'
      items: map(shown, each => {
        type: 3
        name: each.title
        content: {
          version: 'KqlItem/1.0'
          title: each.title
          query: each.query
          queryType: 0
          resourceType: 'microsoft.operationalinsights/workspaces'
          timeContext: { durationMs: 86400000 }
          visualization: each.?measure == 'Oldest' ? 'table' : 'timechart'
        }
      })
      fallbackResourceIds: [logAnalyticsId]
    })
  }
}

resource budget 'Microsoft.Consumption/budgets@2023-11-01' = if (monthlyBudget > 0 && !empty(email)) {
  name: 'budget-${token}'
  properties: {
    category: 'Cost'
    amount: monthlyBudget
    timeGrain: 'Monthly'
    timePeriod: { startDate: budgetStart }
    notifications: {
      most: { enabled: true, operator: 'GreaterThan', threshold: 80, thresholdType: 'Actual', contactEmails: [email] }
      foreseen: { enabled: true, operator: 'GreaterThan', threshold: 100, thresholdType: 'Forecasted', contactEmails: [email] }
    }
  }
}
