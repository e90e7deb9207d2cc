import { rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import writeFileAtomic from 'write-file-atomic'
import { makeDirectory } from '../../base/files/make-directory.ts'
import { closestName, didYouMean } from '../../base/text/closest-name.ts'
import { isBuiltIn } from '../../catalog/built-in-sources.ts'
import type { NewSource, Source } from '../../catalog/source.ts'
import { isReserved } from '../../endpoints/definition/definition.ts'
import { possibleSources } from '../../sql/tokens.ts'
import { alertFile } from '../../workspace/alert-file.ts'
import { endpointFile, pullPlan, type ServerEndpoint } from '../../workspace/deployment-plan.ts'
import { readDeployedFiles } from '../../workspace/workspace.ts'
import { sourceFileIn } from '../../workspace/workspace-sources.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import type { ServiceClient } from '../service-client.ts'
import { fetchAlerts, fetchEndpoints, fetchSources } from './service-state.ts'

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
  const queries = name === undefined ? undefined : pulled.map(({ definition }) => definition.query)
  const alerts = name === undefined ? await fetchAlerts(client) : []
  const local = readDeployedFiles(directory)
  const { endpoints, problems } = local
  const existing = new Set(
    [...endpoints, ...local.sources, ...local.alerts, ...problems].map(({ file }) => file),
  )
  const sourceFile = (source: NewSource) => sourceFileIn(local.sources, source)
  const sources = await ownSources(client, queries)
  const plan = pullPlan(
    [
      ...endpoints.map(endpointFile),
      ...local.sources.map(({ source }) => sourceFile(source)),
      ...local.alerts.map(alertFile),
    ],
    existing,
    [...pulled.map(endpointFile), ...sources.map(sourceFile), ...alerts.map(alertFile)],
  )
  const lost = new Set(plan.flatMap(({ loses }) => loses))
  if (lost.size > 0 && !options.force) {
    throw new CommandFailure(
      `${[...lost].join(', ')} would be replaced; nothing was written. Compare with "wellhead diff", or use --force to replace.`,
    )
  }
  makeDirectory(join(directory, 'endpoints'))
  for (const { file, action, content } of plan) {
    makeDirectory(dirname(join(directory, file)))
    if (action !== 'unchanged') writeFileAtomic.sync(join(directory, file), content)
  }
  const written = new Set(plan.map(({ file }) => file))
  for (const file of lost) if (!written.has(file)) rmSync(join(directory, file))
  return plan.map(({ file, action }) => ({ file, action }))
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

/** The sources that are not built in; of one endpoint, those that its query reads. */
async function ownSources(client: ServiceClient, queries: readonly string[] | undefined): Promise<Source[]> {
  const words = queries && new Set(queries.flatMap((query) => [...possibleSources(query)]))
  return (await fetchSources(client)).filter(({ name }) => !isBuiltIn(name) && (!words || words.has(name)))
}
