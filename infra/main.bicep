// Orc on Azure: everything that `azd provision` makes. Nothing here holds or hands out an account key.
targetScope = 'subscription'

@minLength(1)
@maxLength(32)
@description('Name of the azd environment; part of every name.')
param environmentName string

@minLength(1)
@description('Region of everything but the models.')
param location string

@description('Region of the models, if it differs: not every region has every model. Empty: the same.')
param modelLocation string = ''

@description('Application (client) id of the Entra app registration that people sign in with.')
param authClientId string

@description('The account that runs azd: may create the search index and call the models. Empty in a pipeline that has these roles already.')
param principalId string = ''

@description('Set by azd once it has deployed the tools server.')
param toolsExist bool = false

@allowed(['User', 'ServicePrincipal'])
param principalType string = 'User'

param chatModel string = 'gpt-5.1'
param chatModelVersion string = '2025-11-13'
@description('Thousands of tokens a minute.')
param chatCapacity int = 50
param embeddingModel string = 'text-embedding-3-small'
param embeddingModelVersion string = '1'
param embeddingCapacity int = 50

@description('Turns this old are removed; 0 keeps them.')
@minValue(0)
param retentionDays int = 0

@description('Requests that one instance of the API answers at a time. A turn mostly waits.')
@minValue(1)
param concurrencyPerInstance int = 16

@description('Instances of the API at most, and how many of them never sleep: after a pause, a first question waits seconds.')
@minValue(1)
param maximumInstances int = 40
@minValue(0)
param alwaysReadyInstances int = 0

@secure()
@description('Further settings of both apps: a JSON object of names and texts, in base64.')
param appSettings string = base64('{}')

@description('Who signs people in: Azure in front of the app (easyauth), or the page itself (oidc).')
@allowed(['easyauth', 'oidc'])
param authMode string = 'easyauth'

@description('Web pages that may upload to the signed addresses that the API hands out, with commas in between.')
param uploadOrigins string = ''

@secure()
@description('Of Google Programmable Search, which takes no new customers and ends on 1 January 2027. Empty: not used.')
param googleSearchKey string = ''
param googleSearchEngine string = ''

@secure()
@description('Of the Brave Search API. Without a key the web is not searched.')
param braveSearchKey string = ''

@description('Set by azd after it has created the vault; the key in that vault is kept.')
param presentVault string = ''

@secure()
@description('Signs scopes, and leads names of sessions to their conversations. Used only where the vault has none yet.')
param scopeKey string = '${newGuid()}${newGuid()}'

var tags = { 'azd-env-name': environmentName }
var token = uniqueString(subscription().id, environmentName, location)

resource group 'Microsoft.Resources/resourceGroups@2024-03-01' = {
  name: 'rg-${environmentName}'
  location: location
  tags: tags
}

module identities 'modules/identities.bicep' = {
  scope: group
  params: { location: location, tags: tags, token: token }
}

module monitoring 'modules/monitoring.bicep' = {
  scope: group
  params: {
    location: location
    tags: tags
    token: token
    publishers: [identities.outputs.apiPrincipalId, identities.outputs.toolsPrincipalId]
  }
}

module vault 'modules/vault.bicep' = {
  scope: group
  params: {
    location: location
    tags: tags
    token: token
    presentVault: presentVault
    scopeKey: scopeKey
    readers: [identities.outputs.apiPrincipalId, identities.outputs.toolsPrincipalId]
  }
}

module storage 'modules/storage.bicep' = {
  scope: group
  params: {
    location: location
    tags: tags
    token: token
    apiPrincipalId: identities.outputs.apiPrincipalId
    toolsPrincipalId: identities.outputs.toolsPrincipalId
    uploadOrigins: empty(uploadOrigins) ? [] : split(uploadOrigins, ',')
  }
}

module cosmos 'modules/cosmos.bicep' = {
  scope: group
  params: {
    location: location
    tags: tags
    token: token
    apiPrincipalId: identities.outputs.apiPrincipalId
    toolsPrincipalId: identities.outputs.toolsPrincipalId
  }
}

module search 'modules/search.bicep' = {
  scope: group
  params: {
    location: location
    tags: tags
    token: token
    apiPrincipalId: identities.outputs.apiPrincipalId
    toolsPrincipalId: identities.outputs.toolsPrincipalId
    deployerId: principalId
    deployerType: principalType
  }
}

module models 'modules/models.bicep' = {
  scope: group
  params: {
    location: empty(modelLocation) ? location : modelLocation
    tags: tags
    token: token
    chatModel: chatModel
    chatModelVersion: chatModelVersion
    chatCapacity: chatCapacity
    embeddingModel: embeddingModel
    embeddingModelVersion: embeddingModelVersion
    embeddingCapacity: embeddingCapacity
    callers: [identities.outputs.apiPrincipalId, identities.outputs.toolsPrincipalId]
    deployerId: principalId
    deployerType: principalType
  }
}

// Settings of both apps. Their names are those of docs/configuration.md. What operators add or change is in
// appSettings: a provision replaces what was set in the portal.
var own = {
  AZURE_COSMOS_ENDPOINT: cosmos.outputs.endpoint
  AZURE_STORAGE_ACCOUNT_URL: storage.outputs.blobEndpoint
  AZURE_SEARCH_ENDPOINT: search.outputs.endpoint
  AZURE_OPENAI_ENDPOINT: models.outputs.endpoint
  ORC_CHAT_MODEL: chatModel
  ORC_EMBEDDING_MODEL: embeddingModel
  ORC_RESPONSES_API: 'true'
  ORC_TELEMETRY_EXPORTERS: 'azure'
  // Where to, and no secret: only identities may write there.
  APPLICATIONINSIGHTS_CONNECTION_STRING: monitoring.outputs.connectionString
}
var theirs = json(base64ToString(appSettings))
// A message per lease comes up while a long job goes on: fewer of them, for a longer wait after a crash.
var advanced = union({ ingestion_lease_seconds: 30 }, json(theirs.?ORC_ADVANCED ?? '{}'))
var shared = union(own, theirs, { ORC_ADVANCED: string(advanced) })
var retention = retentionDays == 0 ? {} : { ORC_RETENTION_DAYS: string(retentionDays) }

module present 'modules/present-image.bicep' = if (toolsExist) {
  scope: group
  params: { token: token }
}

module tools 'modules/tools.bicep' = {
  scope: group
  params: {
    location: location
    tags: tags
    token: token
    identityId: identities.outputs.toolsId
    identityClientId: identities.outputs.toolsClientId
    identityPrincipalId: identities.outputs.toolsPrincipalId
    logAnalyticsName: monitoring.outputs.logAnalyticsName
    scopeKeyUri: vault.outputs.scopeKeyUri
    settings: shared
    googleSearchKey: googleSearchKey
    googleSearchEngine: googleSearchEngine
    braveSearchKey: braveSearchKey
    image: toolsExist ? present!.outputs.image : ''
  }
}

module api 'modules/api.bicep' = {
  scope: group
  params: {
    location: location
    tags: tags
    token: token
    identityId: identities.outputs.apiId
    identityClientId: identities.outputs.apiClientId
    hostStorageName: storage.outputs.hostName
    packageContainer: storage.outputs.packageContainer
    queueEndpoint: storage.outputs.queueEndpoint
    scopeKeyUri: vault.outputs.scopeKeyUri
    authClientId: authClientId
    authMode: authMode
    concurrencyPerInstance: concurrencyPerInstance
    maximumInstances: maximumInstances
    alwaysReadyInstances: alwaysReadyInstances
    settings: union(shared, retention, { MCP_SERVER_URL: '${tools.outputs.url}/mcp' })
  }
}

// azd keeps these in the environment: `orc provision` and `orc doctor` read them locally, the next
// deployment the vault's name.
output AZURE_COSMOS_ENDPOINT string = cosmos.outputs.endpoint
output AZURE_STORAGE_ACCOUNT_URL string = storage.outputs.blobEndpoint
output AZURE_SEARCH_ENDPOINT string = search.outputs.endpoint
output AZURE_OPENAI_ENDPOINT string = models.outputs.endpoint
// With their versions: the next deployment reads both, and a version fits one model only.
output ORC_CHAT_MODEL string = chatModel
output ORC_CHAT_MODEL_VERSION string = chatModelVersion
output ORC_EMBEDDING_MODEL string = embeddingModel
output ORC_EMBEDDING_MODEL_VERSION string = embeddingModelVersion
output MCP_SERVER_URL string = '${tools.outputs.url}/mcp'
output AZURE_KEY_VAULT_NAME string = vault.outputs.name
output AZURE_CONTAINER_REGISTRY_ENDPOINT string = tools.outputs.registry
output API_URL string = api.outputs.url
output AUTH_REDIRECT_URI string = api.outputs.redirectUri
