// Cosmos DB, serverless, with the containers of orc_core/storage/cosmos/items.py: a test holds the two together.
param location string
param tags object
param token string
param apiPrincipalId string
param toolsPrincipalId string
param logAnalyticsId string
param publicAccess string

var database = 'orc'
var owner = ['/organization_id', '/user_id', '/conversation_id']
var asked = ['/organization_id/?', '/user_id/?', '/conversation_id/?', '/sha256/?', '/readable/?', '/status/?', '/created_at/?']
var containers = [
  { name: 'conversations', paths: owner, expires: true, indexed: ['/*'], unindexed: ['/item/*', '/"_etag"/?'] }
  { name: 'documents', paths: owner, expires: false, indexed: asked, unindexed: ['/*', '/"_etag"/?'] }
  { name: 'memory', paths: owner, expires: true, indexed: ['/organization_id/?', '/user_id/?', '/conversation_id/?'], unindexed: ['/*', '/"_etag"/?'] }
  { name: 'contexts', paths: ['/organization_id'], expires: true, indexed: ['/*'], unindexed: ['/item/*', '/"_etag"/?'] }
  { name: 'limits', paths: ['/organization_id', '/user_id'], expires: true, indexed: ['/organization_id/?', '/user_id/?'], unindexed: ['/*', '/"_etag"/?'] }
  { name: 'credentials', paths: ['/credential_id'], expires: true, indexed: ['/credential_id/?', '/organization_id/?', '/user_id/?', '/kind/?'], unindexed: ['/*', '/"_etag"/?'] }
  { name: 'analyses', paths: ['/document_id'], expires: false, indexed: ['/document_id/?'], unindexed: ['/*', '/"_etag"/?'] }
  { name: 'traces', paths: ['/organization_id', '/day'], expires: true, indexed: ['/*'], unindexed: ['/item/*', '/"_etag"/?'] }
]

// The built-in data contributor: items and queries, no keys, no settings of the account.
var dataContributor = '${account.id}/sqlRoleDefinitions/00000000-0000-0000-0000-000000000002'
var grants = [
  { principal: apiPrincipalId, scope: '/dbs/${database}' }
  // The tools server never sees a conversation.
  { principal: toolsPrincipalId, scope: '/dbs/${database}/colls/documents' }
  { principal: toolsPrincipalId, scope: '/dbs/${database}/colls/analyses' }
]

resource account 'Microsoft.DocumentDB/databaseAccounts@2024-05-15' = {
  name: 'cosmos-${token}'
  location: location
  tags: tags
  kind: 'GlobalDocumentDB'
  properties: {
    databaseAccountOfferType: 'Standard'
    disableLocalAuth: true
    disableKeyBasedMetadataWriteAccess: true
    minimalTlsVersion: 'Tls12'
    publicNetworkAccess: publicAccess
    // A document that one process has just recorded is looked up by the other: within a region that costs reads
    // twice, and no time.
    consistencyPolicy: { defaultConsistencyLevel: 'Strong' }
    locations: [{ locationName: location, failoverPriority: 0, isZoneRedundant: false }]
    capabilities: [{ name: 'EnableServerless' }]
    backupPolicy: { type: 'Continuous', continuousModeProperties: { tier: 'Continuous7Days' } }
  }

  resource orc 'sqlDatabases' = {
    name: database
    properties: { resource: { id: database } }

    resource items 'containers' = [for each in containers: {
      name: each.name
      properties: {
        resource: {
          id: each.name
          partitionKey: { paths: each.paths, kind: length(each.paths) == 1 ? 'Hash' : 'MultiHash', version: 2 }
          defaultTtl: each.expires ? -1 : null
          indexingPolicy: {
            indexingMode: 'consistent'
            includedPaths: map(each.indexed, path => { path: path })
            excludedPaths: map(each.unindexed, path => { path: path })
          }
        }
      }
    }]
  }
}

// Not the other categories: they have ids of users, and a line for each request.
resource toLogs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'logs'
  scope: account
  properties: {
    workspaceId: logAnalyticsId
    logs: [{ category: 'ControlPlaneRequests', enabled: true }]
  }
}

resource grant 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2024-05-15' = [for each in grants: {
  parent: account
  name: guid(account.id, each.principal, each.scope)
  properties: {
    principalId: each.principal
    roleDefinitionId: dataContributor
    scope: '${account.id}${each.scope}'
  }
  dependsOn: [account::orc::items]
}]

output id string = account.id
output endpoint string = account.properties.documentEndpoint
