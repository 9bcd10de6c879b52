// The domain of an environment of Container Apps that only its network reaches. Its name is known once it is there.
param tags object
param token string
param networkId string
param domain string
param address string

resource zone 'Microsoft.Network/privateDnsZones@2024-06-01' = {
  name: domain
  location: 'global'
  tags: tags

  resource everyApp 'A' = {
    name: '*'
    properties: { ttl: 300, aRecords: [{ ipv4Address: address }] }
  }

  resource link 'virtualNetworkLinks' = {
    name: 'vnet-${token}'
    location: 'global'
    properties: { registrationEnabled: false, virtualNetwork: { id: networkId } }
  }
}
