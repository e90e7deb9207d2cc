import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import { wholeNumber } from '../arguments.ts'
import { CommandFailure, usageFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { addExamples } from '../help.ts'
import { entryBounds, readEntries } from '../logs/entry-reader.ts'
import { batchKeys, gatherBatches, type Rejection } from '../logs/log-batches.ts'
import { findInputs, type LogInput, readUnpacked } from '../logs/log-input.ts'
import { sendBatch } from '../logs/send-batch.ts'
import { plural } from '../output/format-amount.ts'
import { printJson } from '../output/print.ts'
import { Progress } from '../output/progress.ts'
import { visible } from '../output/visible.ts'
import type { ServiceClient } from '../service-client.ts'
import { addServiceAction, addServiceCommand } from '../service-command.ts'
import { addLogsSearchCommand } from './logs-search-command.ts'
import { addLogsTailCommand } from './logs-tail-command.ts'

const batchBounds = { maxBytes: 4 * 2 ** 20, maxEntries: 10_000 }
/** About five minutes with the pauses between attempts. */
const maxAttempts = 14
const maxShownRejections = 100
const maxKeptRejections = 1_000

interface SendOptions {
  source: string
  batchEntries: number
  again?: true
  json?: true
}

interface Tally {
  source: string
  batches: number
  accepted: number
  /** How many of the accepted entries an earlier command had stored. */
  already_stored: number
  rejected: number
  errors: Rejection[]
}

const sendHelp = `
After an interruption, run the same command again. Entries that are already stored are not stored twice if the second
run is within a day and uses the same token. To store the same input twice on purpose, use --again. Rejected entries are
listed with their line, and the exit code is 1.
`

export function defineLogs(logs: Command, io: CommandIo): void {
  addExamples(
    logs,
    'wellhead logs send access.ndjson.gz --source edge_logs',
    'wellhead logs search edge_logs timeout --since 12h',
    'wellhead logs tail edge_logs -n 20',
  )

  const description = 'send entries from files or standard input: NDJSON or JSON, plain or gzip'
  const send = addServiceCommand(logs, 'send', description)
    .argument('[files...]', 'files; "-" or none reads standard input')
    .requiredOption('--source <name>', 'source that stores the entries')
    .option(
      '--batch-entries <n>',
      'maximum entries per request; use the same value when sending again',
      wholeNumber(1, batchBounds.maxEntries),
      batchBounds.maxEntries,
    )
    .option('--again', 'store the entries even if the same input was sent within the last day')
    .option('--json', 'print the counts as JSON')
    .addHelpText('after', sendHelp)
  addServiceAction(send, io, {
    examples: [
      'wellhead logs send access.ndjson.gz errors.json --source edge_logs',
      'zstdcat old.ndjson.zst | wellhead logs send --source edge_logs',
    ],
    request: async (client, files: string[], options: SendOptions) => {
      if (files.length === 0 && io.stdinIsTerminal) {
        throw usageFailure('There is nothing to send. Name files, or pipe entries to standard input.')
      }
      const inputs = await findInputs(files.length === 0 ? ['-'] : files, io)
      // A missing token fails before the input is read.
      client.find()
      const tally = await sendInputs(inputs, options, client, io)
      if (options.json) await printJson(io, tally)
      await io.stderr.write(`${summary(tally)}\n`)
      if (tally.rejected > 0) throw new CommandFailure('')
    },
  })
  addLogsSearchCommand(logs, io)
  addLogsTailCommand(logs, io)
}

async function sendInputs(
  inputs: readonly LogInput[],
  { source, batchEntries, again }: SendOptions,
  client: ServiceClient,
  io: CommandIo,
): Promise<Tally> {
  const tally: Tally = { source, batches: 0, accepted: 0, already_stored: 0, rejected: 0, errors: [] }
  const hasSizes = inputs.every(({ bytes }) => bytes !== undefined)
  const progress = new Progress('Sending', io)
  if (hasSizes) progress.totalBytes = inputs.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0)
  const keyOf = await batchKeys(source, again ? crypto.randomUUID() : '')
  const bounds = { ...batchBounds, maxEntries: batchEntries }
  const note = (text: string) => {
    progress.end()
    void io.stderr.write(`${text}\n`)
  }
  const reject = (rejection: Rejection) => {
    tally.rejected++
    if (tally.errors.length < maxKeptRejections) tally.errors.push(rejection)
    if (tally.rejected <= maxShownRejections) note(rejectionText(rejection))
  }
  try {
    for (const input of inputs) {
      const chunks = readUnpacked(input, io.signal, (bytes) => progress.add(bytes))
      const reading = await readEntries(input.name, chunks, entryBounds)
      for await (const piece of gatherBatches(reading, bounds)) {
        if ('rejection' in piece) {
          reject({ input: input.name, ...piece.rejection })
          continue
        }
        const { batch } = piece
        const sent = await sendBatch(batch, keyOf(batch), {
          client,
          source,
          maxAttempts,
          wasReached: tally.batches > 0,
          pause: (ms) => delay(ms, undefined, { signal: io.signal }),
          onWait: ({ message }, ms) => note(`${message} Retrying in ${Math.ceil(ms / 1000)}s.`),
        })
        tally.batches++
        tally.accepted += sent.accepted
        if (sent.replayed) tally.already_stored += sent.accepted
        for (const { index, reason } of sent.errors) {
          const line = batch.lines[index]
          reject({ input: input.name, ...(line === undefined ? { index } : { line }), reason })
        }
        progress.note = `${entries(tally.accepted)} stored`
      }
    }
  } catch (error) {
    const canResume = error instanceof CommandFailure || io.signal.aborted
    if (tally.batches > 0 && canResume) {
      note(`${summary(tally)} Run the same command again to send the rest; nothing is stored twice.`)
    }
    throw error
  } finally {
    progress.end()
  }
  return tally
}

function rejectionText({ input, line, index, reason }: Rejection): string {
  const position = line === undefined ? `${input}: entry ${(index ?? 0) + 1}` : `${input}:${line}`
  return `${position}: ${visible(reason)}`
}

function entries(count: number): string {
  return plural(count, 'entry', 'entries')
}

function summary({ accepted, already_stored, rejected, source }: Tally): string {
  const added = accepted - already_stored
  const before = plural(already_stored, 'entry was', 'entries were')
  const shown = rejected > maxShownRejections ? ` (showing the first ${maxShownRejections})` : ''
  const parts = [
    added > 0 || already_stored === 0 ? `${entries(added)} stored in ${source}` : '',
    already_stored === 0 ? '' : `${before} already stored${added === 0 ? ` in ${source}` : ''}`,
    rejected === 0 ? '' : `${entries(rejected)} rejected${shown}`,
  ]
  const hint = already_stored > 0 && added === 0 ? ' Use --again to store the same entries twice.' : ''
  return `${parts.filter((part) => part !== '').join(', ')}.${hint}`
}
