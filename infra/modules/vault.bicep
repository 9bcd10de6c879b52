// The one secret of a deployment: the key that signs scopes and leads names of sessions to their conversations.
// Both apps read it. Only this template writes it, and only once: with another key, session names lead to other conversations.
param location string
param tags object
param token string
param readers array
param logAnalyticsId string
param publicAccess string
param purgeProtection bool

@description('The vault that an earlier deployment has made, if any.')
param presentVault string

@secure()
param scopeKey string

var secretsUser = '4633458b-17de-408a-b874-0445c86b69e6'
var vaultName = 'kv-${token}'

resource vault 'Microsoft.KeyVault/vaults@2023-07-01' = {
  name: vaultName
  location: location
  tags: tags
  properties: {
    tenantId: tenant().tenantId
    sku: { family: 'A', name: 'standard' }
    enableRbacAuthorization: true
    enableSoftDelete: true
    // Once on, it cannot be switched off: Azure refuses `false`.
    enablePurgeProtection: purgeProtection ? true : null
    publicNetworkAccess: toLower(publicAccess)
    networkAcls: { bypass: 'AzureServices', defaultAction: publicAccess == 'Enabled' ? 'Allow' : 'Deny' }
  }
}

resource made 'Microsoft.KeyVault/vaults/secrets@2023-07-01' = if (presentVault != vaultName) {
  parent: vault
  name: 'scope-key'
  properties: { value: scopeKey, contentType: 'text/plain' }
}

resource secret 'Microsoft.KeyVault/vaults/secrets@2023-07-01' existing = {
  parent: vault
  name: 'scope-key'
}

resource toLogs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'logs'
  scope: vault
  properties: {
    workspaceId: logAnalyticsId
    logs: [{ category: 'AuditEvent', enabled: true }]
  }
}

resource read 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for reader in readers: {
  name: guid(secret.id, reader, secretsUser)
  scope: secret
  dependsOn: [made]
  properties: {
    principalId: reader
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', secretsUser)
  }
}]

output id string = vault.id
output name string = vault.name
// With its version: both halves then change over to a new key with their settings, not when they next look.
output scopeKeyUri string = secret.properties.secretUriWithVersion
