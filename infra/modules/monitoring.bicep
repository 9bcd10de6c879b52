// Logs and Application Insights, written to by identities only.
param location string
param tags object
param token string
param publishers array

var metricsPublisher = '3913510d-42f4-4e42-8a64-420c390055eb'

resource logs 'Microsoft.OperationalInsights/workspaces@2023-09-01' = {
  name: 'log-${token}'
  location: location
  tags: tags
  properties: {
    sku: { name: 'PerGB2018' }
    retentionInDays: 30
  }
}

resource insights 'Microsoft.Insights/components@2020-02-02' = {
  name: 'appi-${token}'
  location: location
  tags: tags
  kind: 'web'
  properties: {
    Application_Type: 'web'
    WorkspaceResourceId: logs.id
    DisableLocalAuth: true
  }
}

resource publish 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for publisher in publishers: {
  name: guid(insights.id, publisher, metricsPublisher)
  scope: insights
  properties: {
    principalId: publisher
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', metricsPublisher)
  }
}]

output logAnalyticsId string = logs.id
output connectionString string = insights.properties.ConnectionString
