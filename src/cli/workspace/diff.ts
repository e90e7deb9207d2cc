import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { plural } from '../output/format-amount.ts'
import { printJson } from '../output/print.ts'
import { visible } from '../output/visible.ts'
import type { ServiceClient } from '../service-client.ts'
import { printFindings } from './findings.ts'
import { alertAction, openChecked, type Plan, planFor, planText } from './plan.ts'

export interface DiffOptions {
  exitCode?: true
  json?: true
}

export async function diff(
  client: ServiceClient,
  directory: string,
  { exitCode, json }: DiffOptions,
  io: CommandIo,
): Promise<void> {
  const plan = await planFor(await openChecked(directory, json, io), client)
  const { endpoints, missing, changed, comparison, alerts } = plan
  if (json) {
    await printJson(io, {
      endpoints,
      missing_sources: missing.map(({ name }) => name),
      sources: changed,
      alerts: alerts.map((alert) => ({
        name: alert.fields.name,
        file: alert.file,
        action: alertAction(alert),
        diff: alert.diff,
      })),
      only_on_server: comparison.onlyOnServer.map(({ definition }) => definition.name),
    })
  } else await printDiff(plan, io)
  const sources = missing.length + changed.length
  const differs =
    sources > 0 ||
    alerts.some((alert) => alert.diff !== '') ||
    endpoints.some(({ action }) => action !== 'unchanged')
  if (exitCode && differs) throw new CommandFailure('')
}

async function printDiff({ endpoints, comparison, missing, changed, alerts }: Plan, io: CommandIo) {
  const changes = endpoints.filter(({ action }) => action !== 'unchanged')
  for (const endpoint of changes) {
    await io.stdout.write(`${planText(endpoint, io)}${diffText(endpoint.diff, io)}\n\n`)
  }
  for (const alert of alerts.filter(({ diff }) => diff !== '')) {
    await io.stdout.write(`${alertAction(alert)} alert ${alert.fields.name}\n${diffText(alert.diff, io)}\n\n`)
  }
  for (const { name } of missing) await io.stdout.write(`not on the service: source ${name}\n`)
  for (const { message } of changed) await io.stdout.write(`differs: ${visible(message)}\n`)
  const others = comparison.onlyOnServer.map(({ definition }) => definition.name)
  if (others.length > 0) await io.stdout.write(`only on the service: ${others.join(', ')}\n`)
  await printFindings(
    endpoints.flatMap(({ warnings }) => warnings),
    io,
  )
  const unchanged = endpoints.length - changes.length
  await io.stdout.write(`${plural(changes.length, 'endpoint')} to deploy, ${unchanged} unchanged.\n`)
}

function diffText(diff: string, { stdout: { colors } }: CommandIo): string {
  const lines = diff.split('\n').map((line) => {
    if (/^(---|\+\+\+)/.test(line)) return colors.bold(visible(line))
    if (line.startsWith('-')) return colors.red(visible(line))
    return line.startsWith('+') ? colors.green(visible(line)) : visible(line)
  })
  return lines.join('\n').trimEnd()
}
