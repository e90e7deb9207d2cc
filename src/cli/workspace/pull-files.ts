import { existsSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import writeFileAtomic from 'write-file-atomic'
import type { AlertView } from '../../alerts/alert-admin.ts'
import { makeDirectory } from '../../base/files/make-directory.ts'
import { closestName, didYouMean } from '../../base/text/closest-name.ts'
import { isBuiltIn } from '../../catalog/built-in-sources.ts'
import { type Source, sourceName } from '../../catalog/source.ts'
import { isReserved } from '../../endpoints/definition/definition.ts'
import type { EndpointView } from '../../endpoints/manage/endpoint-admin.ts'
import { possibleSources } from '../../sql/tokens.ts'
import { alertFile, readServerAlert, type ServerAlert } from '../../workspace/alert-file.ts'
import {
  endpointFile,
  pullPlan,
  readServerEndpoints,
  type ServerEndpoint,
  UnreadableEndpoint,
} from '../../workspace/deployment-plan.ts'
import { readFiles } from '../../workspace/workspace.ts'
import { sourceFileOf } from '../../workspace/workspace-sources.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { listOf, type ServiceClient } from '../service-client.ts'

export interface PullOptions {
  all?: true
  force?: true
  directory: string
}

export async function pullFiles(
  name: string | undefined,
  client: ServiceClient,
  options: PullOptions,
  io: CommandIo,
) {
  const directory = resolve(io.cwd, options.directory)
  const all = await fetchEndpoints(client)
  const pulled =
    name === undefined
      ? all.filter((each) => !isReserved(each.definition.name) && (options.all || !each.isShipped))
      : [findByName(name, all)]
  const alerts = name === undefined ? await fetchAlerts(client) : []
  const local = readFiles(directory)
  const existing = new Set([...local.endpoints, ...local.alerts, ...local.problems].map(({ file }) => file))
  const plan = pullPlan([...local.endpoints.map(endpointFile), ...local.alerts.map(alertFile)], existing, [
    ...pulled.map(endpointFile),
    ...alerts.map(alertFile),
  ])
  const lost = new Set(plan.flatMap(({ loses }) => loses))
  if (lost.size > 0 && !options.force) {
    throw new CommandFailure(
      `${[...lost].join(', ')} would be replaced; nothing was written. Compare with "wellhead diff", or use --force to replace.`,
    )
  }
  for (const folder of ['endpoints', ...(alerts.length > 0 ? ['alerts'] : [])]) {
    makeDirectory(join(directory, folder))
  }
  for (const { file, action, content } of plan) {
    if (action !== 'unchanged') writeFileAtomic.sync(join(directory, file), content)
  }
  const written = new Set(plan.map(({ file }) => file))
  for (const file of lost) if (!written.has(file)) rmSync(join(directory, file))
  const queries = name === undefined ? undefined : pulled.map(({ definition }) => definition.query)
  const sources = await pullSources(directory, client, queries)
  return [...plan.map(({ file, action }) => ({ file, action })), ...sources]
}

function findByName(name: string, endpoints: readonly ServerEndpoint[]): ServerEndpoint {
  if (isReserved(name)) {
    throw new CommandFailure(
      `${name} is part of the service. Show it with "wellhead endpoint show ${name}", and save a copy with another name.`,
    )
  }
  const found = endpoints.find(({ definition }) => definition.name === name || definition.id === name)
  if (found) return found
  const closest = closestName(
    name,
    endpoints.map(({ definition }) => definition.name),
  )
  throw new CommandFailure(`No endpoint has the name "${name}".${didYouMean(closest)}`)
}

/** Adds files for the service's own sources that queries read, which "wellhead check" needs. Keeps existing files. */
async function pullSources(directory: string, client: ServiceClient, queries: readonly string[] | undefined) {
  const words = queries && new Set(queries.flatMap((query) => [...possibleSources(query)]))
  const sources = await fetchSources(client)
  const files = sources
    .filter(
      ({ name, aliases }) => !isBuiltIn(name) && (!words || [name, ...aliases].some((one) => words.has(one))),
    )
    .map(sourceFileOf)
    .filter(({ file }) => !existsSync(join(directory, file)))
  if (files.length > 0) makeDirectory(join(directory, 'sources'))
  for (const { file, content } of files) writeFileAtomic.sync(join(directory, file), content)
  return files.map(({ file }) => ({ file, action: 'written' }))
}

export async function fetchAlerts(client: ServiceClient): Promise<ServerAlert[]> {
  return (await client.json('GET', '/api/alerts', listOf<AlertView>('id', 'name', 'version'))).map(
    readServerAlert,
  )
}

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
  const views = await client.json('GET', '/api/endpoints', listOf<EndpointView>('name', 'version'))
  try {
    return readServerEndpoints(views)
  } catch (error) {
    throw error instanceof UnreadableEndpoint ? new CommandFailure(error.message) : error
  }
}
