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
import { fieldsOfView, formatAlert } from '../../workspace/alert-file.ts'
import {
  pullPlan,
  readServerEndpoints,
  type ServerAlert,
  type ServerEndpoint,
  UnreadableEndpoint,
} from '../../workspace/deployment-plan.ts'
import { readAlertFiles, readEndpointFiles } from '../../workspace/workspace.ts'
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
  const { endpoints, problems } = readEndpointFiles(directory)
  const existing = new Set([...endpoints, ...problems].map(({ file }) => file))
  const plan = pullPlan(endpoints, existing, pulled)
  const lost = new Set(plan.flatMap(({ loses }) => loses))
  if (lost.size > 0 && !options.force) {
    throw new CommandFailure(
      `${[...lost].join(', ')} would be replaced; nothing was written. Compare with "wellhead diff", or use --force to replace.`,
    )
  }
  makeDirectory(join(directory, 'endpoints'))
  for (const { file, action, content } of plan) {
    if (action !== 'unchanged') writeFileAtomic.sync(join(directory, file), content)
  }
  const written = new Set(plan.map(({ file }) => file))
  for (const file of lost) if (!written.has(file)) rmSync(join(directory, file))
  const queries = name === undefined ? undefined : pulled.map(({ definition }) => definition.query)
  const sources = await pullSources(directory, client, queries)
  const alerts = name === undefined ? await pullAlerts(directory, client, options) : []
  return [...plan.map(({ file, action }) => ({ file, action })), ...sources, ...alerts]
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

/** Writes the alerts of the service. A file that differs is replaced only with --force. */
async function pullAlerts(directory: string, client: ServiceClient, { force }: PullOptions) {
  const { alerts, problems } = readAlertFiles(directory)
  const existing = new Set([...alerts, ...problems].map(({ file }) => file))
  const plan = (await fetchAlerts(client)).map(({ fields }) => {
    const file = `alerts/${fields.name}.yaml`
    const content = formatAlert(fields)
    const local = alerts.find((alert) => alert.file === file)
    const isSame = local !== undefined && formatAlert(local.fields) === content
    return { file, content, action: isSame ? 'unchanged' : existing.has(file) ? 'replaced' : 'written' }
  })
  const lost = plan.filter(({ action }) => action === 'replaced').map(({ file }) => file)
  if (lost.length > 0 && !force) {
    throw new CommandFailure(
      `${lost.join(', ')} would be replaced. Compare with "wellhead diff", or use --force to replace.`,
    )
  }
  if (plan.length > 0) makeDirectory(join(directory, 'alerts'))
  for (const { file, action, content } of plan) {
    if (action !== 'unchanged') writeFileAtomic.sync(join(directory, file), content)
  }
  return plan.map(({ file, action }) => ({ file, action }))
}

/** The names become names of files, so the shape checks them. */
export async function fetchAlerts(client: ServiceClient): Promise<ServerAlert[]> {
  const views = await client.json(
    'GET',
    '/api/alerts',
    listOf<AlertView>('name', 'when', 'notify', 'version'),
  )
  return views.map((view) => ({ fields: fieldsOfView(view), version: view.version }))
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
