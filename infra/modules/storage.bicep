// Two accounts: documents and jobs in one, what the Functions host needs for itself in the other.
param location string
param tags object
param token string
param apiPrincipalId string
param toolsPrincipalId string
param publicAccess string

@description('How many copies the documents have, and where.')
param sku string

@description('Web pages that may upload to the signed addresses that the API hands out, such as https://example.com.')
param uploadOrigins array

var documentContainers = ['documents', 'documents-derived']
var jobQueues = ['orc-ingest', 'orc-embed', 'orc-analyse']
var packages = 'app-packages'

var blobContributor = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
var blobDelegator = 'db58b8e5-c6ad-4a2a-8342-4190687cbf4a'
var blobOwner = 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
var queueContributor = '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
var tableContributor = '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
var queueSender = 'c6a89b2d-59bc-44d0-9896-0f6e12d7b80a'

var dataRoles = [
  { principal: apiPrincipalId, role: blobContributor }
  { principal: apiPrincipalId, role: blobDelegator } // signs upload tickets
  { principal: apiPrincipalId, role: queueContributor } // takes jobs
  { principal: toolsPrincipalId, role: blobContributor } // reads a document whose text is not stored yet
  { principal: toolsPrincipalId, role: queueSender } // and has it indexed
]
var hostRoles = [
  { principal: apiPrincipalId, role: blobOwner } // the host's leases
  { principal: apiPrincipalId, role: tableContributor } // and its diagnostic events
]

resource data 'Microsoft.Storage/storageAccounts@2023-05-01' = {
  name: 'st${token}'
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: sku }
  properties: {
    allowSharedKeyAccess: false
    allowBlobPublicAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: publicAccess
    networkAcls: { bypass: 'None', defaultAction: publicAccess == 'Enabled' ? 'Allow' : 'Deny' }
  }

  resource blobs 'blobServices' = {
    name: 'default'
    properties: {
      // An administrator of the account can restore a deleted document for a week; no other user can.
      deleteRetentionPolicy: { enabled: true, days: 7 }
      cors: {
        corsRules: empty(uploadOrigins) ? [] : [
          {
            allowedOrigins: uploadOrigins
            allowedMethods: ['PUT']
            allowedHeaders: ['content-type', 'x-ms-blob-type']
            exposedHeaders: ['etag']
            maxAgeInSeconds: 3600
          }
        ]
      }
    }
    resource containers 'containers' = [for name in documentContainers: { name: name }]
  }

  resource queues 'queueServices' = {
    name: 'default'
    resource jobs 'queues' = [for name in jobQueues: { name: name }]
  }
}

resource host 'Microsoft.Storage/storageAccounts@2023-05-01' = {
  name: 'sthost${token}'
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: 'Standard_LRS' }
  properties: {
    allowSharedKeyAccess: false
    allowBlobPublicAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: publicAccess
    networkAcls: { bypass: 'None', defaultAction: publicAccess == 'Enabled' ? 'Allow' : 'Deny' }
  }

  resource blobs 'blobServices' = {
    name: 'default'
    resource packages 'containers' = { name: packages }
  }
}

resource dataRole 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for each in dataRoles: {
  name: guid(data.id, each.principal, each.role)
  scope: data
  properties: {
    principalId: each.principal
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', each.role)
  }
}]

resource hostRole 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for each in hostRoles: {
  name: guid(host.id, each.principal, each.role)
  scope: host
  properties: {
    principalId: each.principal
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', each.role)
  }
}]

output id string = data.id
output hostId string = host.id
output blobEndpoint string = data.properties.primaryEndpoints.blob
output queueEndpoint string = data.properties.primaryEndpoints.queue
output hostName string = host.name
output packageContainer string = '${host.properties.primaryEndpoints.blob}${packages}'
