import type { Command } from 'commander'
import type { AlertAdmin, AlertView } from '../../alerts/alert-admin.ts'
import { durationSeconds } from '../arguments.ts'
import { usageFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { addExamples } from '../help.ts'
import { type ListColumn, printFields, printList, shortTime } from '../output/print.ts'
import { visible } from '../output/visible.ts'
import { listOf, objectWith } from '../service-client.ts'
import { addServiceAction, addServiceCommand } from '../service-command.ts'

type AlertTest = Awaited<ReturnType<AlertAdmin['test']>>
type AlertEvent = Awaited<ReturnType<AlertAdmin['events']>>[number]

const alertFields = ['name', 'state', 'when', 'notify'] as const
const alertResponse = objectWith<AlertView>(...alertFields)
const shownEvents = 20

const columns: readonly ListColumn<AlertView>[] = [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'STATE', of: ({ state, enabled }) => (enabled ? state : 'disabled') },
  { title: 'SINCE', of: ({ since }) => shortTime(since) },
  { title: 'VALUE', of: ({ value }) => (value === null ? null : String(value)) },
  { title: 'WHEN', of: ({ when }) => when },
  { title: 'ENDPOINT', of: ({ endpoint }) => endpoint },
  { title: 'MUTED UNTIL', of: ({ muted_until }) => shortTime(muted_until) },
]

export function defineAlert(alert: Command, io: CommandIo): void {
  addExamples(alert, 'wellhead alert list', 'wellhead alert mute errors --for 2h')

  const list = addServiceCommand(alert, 'list', 'list alerts with their states')
  addServiceAction(list, io, {
    examples: [
      'wellhead alert list',
      'wellhead alert list --json | jq -r \'.[] | select(.state == "firing").name\'',
    ],
    request: (client) => client.json('GET', '/api/alerts', listOf<AlertView>(...alertFields)),
    print: (alerts) => printList(io, columns, alerts, 'No alerts.'),
  })

  const show = addServiceCommand(alert, 'show', 'show an alert and what happened to it').argument(
    '<name>',
    'alert name or id',
  )
  addServiceAction(show, io, {
    examples: ['wellhead alert show errors'],
    request: async (client, name: string) => {
      const shown = await client.json('GET', alertPath(name), alertResponse)
      const events = await client.json(
        'GET',
        `${alertPath(name)}/events`,
        listOf<AlertEvent>('at', 'message'),
      )
      return { ...shown, events }
    },
    print: async ({ events, ...shown }) => {
      await printFields(io.stdout, fieldsOf(shown))
      for (const { at, message } of events.slice(0, shownEvents)) {
        await io.stdout.write(`${shortTime(at)}  ${visible(message)}\n`)
      }
    },
  })

  const test = addServiceCommand(alert, 'test', 'evaluate an alert now, without changing its state')
    .argument('<name>', 'alert name or id')
    .option('--notify', 'also send a test notification')
  addServiceAction(test, io, {
    examples: ['wellhead alert test errors', 'wellhead alert test errors --notify'],
    request: (client, name: string, { notify }: { notify?: true }) =>
      client.json('POST', `${alertPath(name)}/test`, objectWith<AlertTest>('state', 'value', 'rows'), {
        ...(notify && { query: { notify: 'true' } }),
      }),
    print: async (tested) => {
      await io.stdout.write(`${tested.state}, value ${tested.value ?? 'none'}\n`)
      for (const { type, url, status, error } of 'deliveries' in tested ? tested.deliveries : []) {
        await io.stdout.write(`${type} ${visible(url)}: ${status ?? visible(error ?? '')}\n`)
      }
    },
  })

  const mute = addServiceCommand(alert, 'mute', 'stop notifications of an alert for a while')
    .argument('<name>', 'alert name or id')
    .option('--for <duration>', 'how long, such as 30m or 2h (default: 1h)', durationSeconds(1, 30 * 86_400))
    .option('--off', 'end the mute')
  addServiceAction(mute, io, {
    examples: ['wellhead alert mute errors --for 2h', 'wellhead alert mute errors --off'],
    request: (client, name: string, options: { for?: number; off?: true }) => {
      if (options.off && options.for !== undefined) throw usageFailure('Use either --for or --off.')
      const untilMs = io.clock.now() + (options.for ?? 3600) * 1000
      const muted_until = options.off ? null : new Date(untilMs).toISOString()
      return client.json('PATCH', alertPath(name), alertResponse, { json: { muted_until } })
    },
    print: async ({ name, muted_until }) => {
      const outcome = muted_until === null ? 'is not muted' : `is muted until ${shortTime(muted_until)}`
      await io.stdout.write(`${name} ${outcome}.\n`)
    },
  })
}

function alertPath(name: string): string {
  return `/api/alerts/${encodeURIComponent(name)}`
}

function fieldsOf(alert: AlertView): [string, string | null][] {
  const call = [
    alert.endpoint,
    ...Object.entries(alert.parameters).map(([name, value]) => `${name}=${value}`),
  ]
  return [
    ['name', alert.name],
    ['state', alert.enabled ? `${alert.state} since ${shortTime(alert.since)}` : 'disabled'],
    ['value', alert.value === null ? null : String(alert.value)],
    ['error', alert.error],
    ['when', alert.when],
    ['endpoint', call.join(' ')],
    ['every', `${alert.every_seconds} s`],
    ['for', `${alert.for_seconds} s`],
    ['evaluated', shortTime(alert.evaluated_at)],
    ['muted until', shortTime(alert.muted_until)],
    ...alert.notify.map(({ type, url, switched_off_at }): [string, string] => [
      'notify',
      `${type} ${url}${switched_off_at === undefined ? '' : ' (switched off: it responded 410)'}`,
    ]),
  ]
}
