// AI Search with the semantic reranker; the index itself is made by `orc provision`.
param location string
param tags object
param token string
param apiPrincipalId string
param toolsPrincipalId string
param deployerId string
param deployerType string
param publicAccess string
param sku string
param replicas int
param partitions int

var indexContributor = '8ebe5a00-799e-43f5-93ac-243d3dce84a7'
var serviceContributor = '7ca78c08-252a-4471-8644-bb5ff32d4ba0'

var roles = concat(
  [
    { principal: apiPrincipalId, type: 'ServicePrincipal', role: indexContributor } // indexes documents
    { principal: toolsPrincipalId, type: 'ServicePrincipal', role: indexContributor } // drops what a changed blob makes wrong
  ],
  empty(deployerId) ? [] : [{ principal: deployerId, type: deployerType, role: serviceContributor }]
)

resource search 'Microsoft.Search/searchServices@2023-11-01' = {
  name: 'srch-${token}'
  location: location
  tags: tags
  sku: { name: sku }
  properties: {
    replicaCount: replicas
    partitionCount: partitions
    disableLocalAuth: true
    publicNetworkAccess: toLower(publicAccess)
    semanticSearch: 'standard'
  }
}

resource role 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for each in roles: {
  name: guid(search.id, each.principal, each.role)
  scope: search
  properties: {
    principalId: each.principal
    principalType: each.type
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', each.role)
  }
}]

output id string = search.id
output endpoint string = 'https://${search.name}.search.windows.net'
