import type { AlertView } from '../../alerts/alert-admin.ts'
import { type Source, sourceName } from '../../catalog/source.ts'
import type { EndpointView } from '../../endpoints/manage/endpoint-admin.ts'
import { readServerAlert, type ServerAlert } from '../../workspace/alert-file.ts'
import { readServerEndpoints, type ServerEndpoint } from '../../workspace/deployment-plan.ts'
import { listOf, type ServiceClient } from '../service-client.ts'

/** Names are checked because they become names of files. */
export async function fetchSources(client: ServiceClient): Promise<Source[]> {
  const read = listOf<Source>('name', 'aliases', 'columns')
  return client.json('GET', '/api/sources', (json) => {
    const sources = read(json)
    for (const { name } of sources) {
      if (!sourceName.safeParse(name).success) throw new Error(`${JSON.stringify(name)} is not a source name`)
    }
    return sources
  })
}

export async function fetchEndpoints(client: ServiceClient): Promise<ServerEndpoint[]> {
  const read = listOf<EndpointView>('name', 'version')
  return readServerEndpoints(await client.json('GET', '/api/endpoints', read))
}

export async function fetchAlerts(client: ServiceClient): Promise<ServerAlert[]> {
  const alerts = await client.json('GET', '/api/alerts', listOf<AlertView>('id', 'name', 'version'))
  return alerts.map(readServerAlert)
}
