// Azure OpenAI with a chat and an embedding deployment, each named like its model.
param location string
param tags object
param token string
param chatModel string
param chatModelVersion string
param chatCapacity int
param embeddingModel string
param embeddingModelVersion string
param embeddingCapacity int
param callers array
param deployerId string
param deployerType string
param logAnalyticsId string
param publicAccess string

// Not the lesser `Cognitive Services OpenAI User`: documents are sent, and taken back, through the Files API.
var openAiContributor = 'a001fd3d-188f-4b5d-821b-7da978bf7442'
// How long a vector is, `orc provision` asks the model.
var openAiUser = '5e0bd9bd-7b93-4f28-af87-19fc36ad61bd'

resource account 'Microsoft.CognitiveServices/accounts@2024-10-01' = {
  name: 'oai-${token}'
  location: location
  tags: tags
  kind: 'OpenAI'
  sku: { name: 'S0' }
  properties: {
    customSubDomainName: 'oai-${token}'
    disableLocalAuth: true
    publicNetworkAccess: publicAccess
  }
}

resource chat 'Microsoft.CognitiveServices/accounts/deployments@2024-10-01' = {
  parent: account
  name: chatModel
  sku: { name: 'GlobalStandard', capacity: chatCapacity }
  properties: {
    model: { format: 'OpenAI', name: chatModel, version: chatModelVersion }
  }
}

resource embedding 'Microsoft.CognitiveServices/accounts/deployments@2024-10-01' = {
  parent: account
  name: embeddingModel
  sku: { name: 'GlobalStandard', capacity: embeddingCapacity }
  properties: {
    model: { format: 'OpenAI', name: embeddingModel, version: embeddingModelVersion }
  }
  dependsOn: [chat] // the account takes one change at a time
}

resource toLogs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'logs'
  scope: account
  properties: {
    workspaceId: logAnalyticsId
    logs: [{ category: 'Audit', enabled: true }]
  }
}

resource call 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for caller in callers: {
  name: guid(account.id, caller, openAiContributor)
  scope: account
  properties: {
    principalId: caller
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', openAiContributor)
  }
}]

resource look 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(deployerId)) {
  name: guid(account.id, deployerId, openAiUser)
  scope: account
  properties: {
    principalId: deployerId
    principalType: deployerType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', openAiUser)
  }
}

output id string = account.id
output endpoint string = account.properties.endpoint
