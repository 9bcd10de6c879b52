// The one secret of a deployment: the key that signs scopes. Both halves read it, nobody writes it but this.
param location string
param tags object
param token string
param readers array

@secure()
param scopeKey string

var secretsUser = '4633458b-17de-408a-b874-0445c86b69e6'

resource vault 'Microsoft.KeyVault/vaults@2023-07-01' = {
  name: 'kv-${token}'
  location: location
  tags: tags
  properties: {
    tenantId: tenant().tenantId
    sku: { family: 'A', name: 'standard' }
    enableRbacAuthorization: true
    enableSoftDelete: true
  }
}

resource secret 'Microsoft.KeyVault/vaults/secrets@2023-07-01' = {
  parent: vault
  name: 'scope-key'
  properties: { value: scopeKey }
}

resource read 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for reader in readers: {
  name: guid(secret.id, reader, secretsUser)
  scope: secret
  properties: {
    principalId: reader
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', secretsUser)
  }
}]

// With its version: both halves then change over to a new key with their settings, not when they next look.
output scopeKeyUri string = secret.properties.secretUriWithVersion
