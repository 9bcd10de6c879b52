// The private network of a deployment: where both apps run, and where the stores have addresses.
param location string
param tags object
param token string

@description('Addresses of the network, at least a /24. A network that is to be connected to others needs some that none of them has.')
param addresses string

// An app of Functions and an environment of Container Apps cannot share a subnet.
var subnets = ['endpoints', 'api', 'tools']

resource network 'Microsoft.Network/virtualNetworks@2024-05-01' = {
  name: 'vnet-${token}'
  location: location
  tags: tags
  properties: {
    addressSpace: { addressPrefixes: [addresses] }
    subnets: [for (name, place) in subnets: {
      name: name
      properties: {
        addressPrefix: cidrSubnet(addresses, 26, place)
        delegations: name == 'endpoints' ? [] : [{ name: 'apps', properties: { serviceName: 'Microsoft.App/environments' } }]
      }
    }]
  }
}

output id string = network.id
output endpointsSubnet string = '${network.id}/subnets/endpoints'
output apiSubnet string = '${network.id}/subnets/api'
output toolsSubnet string = '${network.id}/subnets/tools'
