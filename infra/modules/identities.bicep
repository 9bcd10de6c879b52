// One identity for each half, so that each gets only the roles that it needs.
param location string
param tags object
param token string

resource api 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: 'id-api-${token}'
  location: location
  tags: tags
}

resource tools 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: 'id-tools-${token}'
  location: location
  tags: tags
}

output apiId string = api.id
output apiClientId string = api.properties.clientId
output apiPrincipalId string = api.properties.principalId
output toolsId string = tools.id
output toolsClientId string = tools.properties.clientId
output toolsPrincipalId string = tools.properties.principalId
