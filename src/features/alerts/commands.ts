import type { Command } from 'commander'
import { addExamples, addServiceAction, durationSeconds } from '../../cli/kit/command.ts'
import type { CommandIo } from '../../cli/kit/command-io.ts'
import { definitionCommands } from '../../cli/kit/definition-commands.ts'
import { entryText, type LoggedEntry, searchEntries } from '../../cli/kit/logs/search-entries.ts'
import { visible } from '../../cli/kit/output/format.ts'
import { type ListColumn, printFields, shortTime } from '../../cli/kit/output/print.ts'
import { apiPath } from '../../cli/kit/service-client.ts'
import { beginningOfTime } from '../../shared/timestamps.ts'
import type { AlertView } from './alert-kind.ts'
import type { AlertTests } from './alert-tests.ts'
import { alertsSource } from './source.ts'

type AlertTest = Awaited<ReturnType<AlertTests['test']>>

const shownEvents = 20

const columns: readonly ListColumn<AlertView>[] = [
  'name',
  { title: 'STATE', of: ({ state, enabled }) => (enabled ? state : 'disabled') },
  'since',
  'value',
  'when',
  'endpoint',
  'muted_until',
  'error',
]

export function defineAlert(alert: Command, io: CommandIo): void {
  addExamples(alert, 'wellhead alert list', 'wellhead alert mute errors --for 2h')
  const alerts = definitionCommands<AlertView>(alert, io, {
    noun: 'alert',
    folder: 'alerts',
    reference: 'alert name or id',
  })

  alerts.list({
    details: ' with their states',
    columns,
    examples: [
      'wellhead alert list',
      'wellhead alert list --json | jq -r \'.[] | select(.state == "firing").name\'',
    ],
  })

  alerts.show({
    details: ' and what happened to it',
    example: 'wellhead alert show errors',
    async more(client, { id }) {
      const events: LoggedEntry[] = []
      const search = { query: `alert_id:"${id}"`, from: beginningOfTime }
      const found = searchEntries(client, alertsSource.name, search, shownEvents)
      for await (const { entry } of found) events.push(entry)
      return { events }
    },
    async print({ events, notify, ...shown }) {
      const targets = notify.map(({ type, url, to, switched_off: isOff }) => {
        return ['notify', `${type} ${url ?? to}${isOff ? ' (switched off: it responded 410)' : ''}`] as const
      })
      await printFields(io.stdout, [...Object.entries(shown), ...targets])
      for (const event of events) await io.stdout.write(`${entryText(event, io.stdout)}\n`)
    },
  })

  const test = alerts.command('test', 'evaluate an alert now, without changing its state')
  addServiceAction(test.option('--notify', 'also send a test notification'), io, {
    examples: ['wellhead alert test errors', 'wellhead alert test errors --notify'],
    request: (client, name: string, { notify = false }: { notify?: boolean }) =>
      client.json<AlertTest>('POST', apiPath('alerts', name, 'test'), { query: { notify: String(notify) } }),
    print: async (tested) => {
      await io.stdout.write(`${tested.state}, value ${tested.value ?? 'none'}\n`)
      for (const { type, url, to, status, error } of 'deliveries' in tested ? tested.deliveries : []) {
        await io.stdout.write(`${type} ${visible(url ?? to ?? '')}: ${status ?? visible(error ?? '')}\n`)
      }
    },
  })

  const mute = alerts
    .command('mute', 'stop notifications of an alert for a while')
    .option('--for <duration>', 'how long, such as 30m or 2h (default: 1h)', durationSeconds(1, 30 * 86_400))
    .option('--off', 'end the mute')
  addServiceAction(mute, io, {
    examples: ['wellhead alert mute errors --for 2h', 'wellhead alert mute errors --off'],
    request: (client, name: string, options: { for?: number; off?: true }) => {
      const untilMs = io.clock.now() + (options.for ?? 3600) * 1000
      const muted_until = options.off ? null : new Date(untilMs).toISOString()
      return client.json<AlertView>('PATCH', apiPath('alerts', name), { json: { muted_until } })
    },
    print: async ({ name, muted_until }) => {
      const outcome = muted_until === null ? 'is not muted' : `is muted until ${shortTime(muted_until)}`
      await io.stdout.write(`${name} ${outcome}.\n`)
    },
  })
}
