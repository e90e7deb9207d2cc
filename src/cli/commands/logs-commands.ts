import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import { wholeNumber } from '../arguments.ts'
import { CommandFailure, usageFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import type { ServiceChoice } from '../find-service.ts'
import { addExamples } from '../help.ts'
import { readEntries } from '../logs/entry-reader.ts'
import { BatchKeys, gatherBatches, type Rejection } from '../logs/log-batches.ts'
import { findInputs, type LogInput, readUnpacked } from '../logs/log-input.ts'
import { sendBatch } from '../logs/send-batch.ts'
import { plural } from '../output/format-amount.ts'
import { printJson } from '../output/print.ts'
import { type Progress, startProgress } from '../output/progress.ts'
import { visible } from '../output/text-width.ts'
import { addServiceOptions, connect, type ServiceClient } from '../service-client.ts'
import { addLogsTailCommand } from './logs-tail-command.ts'

const entryBounds = { maxEntryBytes: 8 * 2 ** 20, maxDocumentBytes: 12 * 2 ** 20 }
const batchBounds = { maxBytes: 4 * 2 ** 20, maxEntries: 10_000 }
/** With the pauses between them about five minutes. */
const maxAttempts = 14
/** More are counted, not shown. */
const maxShownRejections = 100
const maxKeptRejections = 1_000

interface SendOptions extends ServiceChoice {
  source: string
  batchEntries: number
  again?: true
  json?: true
}

interface Tally {
  source: string
  batches: number
  accepted: number
  /** How many of the accepted ones an earlier command had stored. */
  already_stored: number
  rejected: number
  errors: Rejection[]
}

export function addLogsCommands(program: Command, io: CommandIo): void {
  const logs = program.command('logs').description('send logs, and show them as they come')
  addExamples(logs, 'wellhead logs send access.ndjson.gz --source edge_logs')

  const send = addServiceOptions(
    logs
      .command('send')
      .description('send entries from files or standard input: NDJSON, JSON, gzip of either'),
  )
  send
    .argument('[files...]', 'files; - or none is standard input')
    .requiredOption('--source <name>', 'the source that they belong to')
    .option(
      '--batch-entries <n>',
      'at most so many in a request; the same when it is given again',
      wholeNumber(1, batchBounds.maxEntries),
      batchBounds.maxEntries,
    )
    .option('--again', 'store it also if the same was sent within the last day')
    .option('--json', 'the counts as JSON')
    .action(async (files: string[], options: SendOptions) => {
      if (files.length === 0 && io.stdinIsTerminal) {
        throw usageFailure('There is nothing to send: name files, or give entries on standard input.')
      }
      const inputs = await findInputs(files.length === 0 ? ['-'] : files, io)
      const tally = await sendInputs(inputs, options, connect(options, io), io)
      if (options.json) await printJson(io, tally)
      await io.stderr.write(`${inWords(tally)}\n`)
      if (tally.rejected > 0) throw new CommandFailure('')
    })
  send.addHelpText(
    'after',
    '\nInterrupted, the same command can be given again: what is stored already is not stored twice, within a day\n' +
      'and with the same token. So equal input, sent on purpose a second time, needs --again. Rejected entries are told with their line, and the exit code is 1.\n',
  )
  addExamples(
    send,
    'wellhead logs send access.ndjson.gz errors.json --source edge_logs',
    'zstdcat old.ndjson.zst | wellhead logs send --source edge_logs',
  )
  addLogsTailCommand(logs, io)
}

async function sendInputs(
  inputs: readonly LogInput[],
  { source, batchEntries, again }: SendOptions,
  client: ServiceClient,
  io: CommandIo,
): Promise<Tally> {
  const tally: Tally = { source, batches: 0, accepted: 0, already_stored: 0, rejected: 0, errors: [] }
  const total = inputs.every(({ bytes }) => bytes !== undefined)
    ? inputs.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0)
    : undefined
  const progress = startProgress({
    title: 'Sending',
    total,
    unit: 'bytes',
    output: io.stderr,
    clock: io.clock,
  })
  const keys = new BatchKeys(source, again ? randomUUID() : '')
  const bounds = { ...batchBounds, maxEntries: batchEntries }
  let readBytes = 0
  const reject = (rejection: Rejection) => {
    tally.rejected++
    if (tally.errors.length < maxKeptRejections) tally.errors.push(rejection)
    if (tally.rejected > maxShownRejections) return
    progress.end()
    void io.stderr.write(`${placeOf(rejection)}: ${visible(rejection.reason)}\n`)
  }
  try {
    for (const input of inputs) {
      const chunks = readUnpacked(input, io.signal, (bytes) => {
        readBytes += bytes
      })
      const reading = await readEntries(input.name, chunks, entryBounds)
      for await (const piece of gatherBatches(reading, bounds)) {
        if ('rejection' in piece) {
          reject({ input: input.name, ...piece.rejection })
          continue
        }
        const { batch } = piece
        const answer = await sendBatch(batch, keys.next(batch), {
          client,
          source,
          maxAttempts,
          known: tally.batches > 0,
          pause: (ms) => delay(ms, undefined, { signal: io.signal }),
          onWait: (failure, ms) => tellWait(io, progress, failure, ms),
        })
        tally.batches++
        tally.accepted += answer.accepted
        if (answer.replayed) tally.already_stored += answer.accepted
        for (const { index, reason } of answer.errors) {
          const line = batch.lines[index]
          reject({ input: input.name, ...(line === undefined ? { index } : { line }), reason })
        }
        progress.update(readBytes, `${plural(tally.accepted, 'entry', 'entries')} stored`)
      }
    }
  } catch (error) {
    progress.end()
    throw interrupted(error, tally, io)
  }
  progress.end()
  return tally
}

function tellWait(io: CommandIo, progress: Progress, failure: Error, ms: number): void {
  progress.end()
  void io.stderr.write(`${failure.message} Trying again in ${Math.ceil(ms / 1000)} s.\n`)
}

/** Whoever stopped it, or whatever went wrong: it can be begun again. */
function interrupted(error: unknown, tally: Tally, io: CommandIo): unknown {
  const foreseen = error instanceof CommandFailure
  if (tally.batches === 0 || (!foreseen && !io.signal.aborted)) return error
  void io.stderr.write(
    `${inWords(tally)} The rest is not sent; give the same command again, and nothing is stored twice.\n`,
  )
  return error
}

function placeOf({ input, line, index }: Rejection): string {
  return line === undefined ? `${input}: entry ${(index ?? 0) + 1}` : `${input}:${line}`
}

function inWords({ accepted, already_stored, rejected, source }: Tally): string {
  const before = plural(already_stored, 'entry was', 'entries were')
  const fresh = accepted - already_stored
  const stored =
    already_stored === 0
      ? `${plural(fresh, 'entry', 'entries')} stored in ${source}`
      : fresh === 0
        ? `${before} already stored in ${source}; nothing was stored twice (--again does it)`
        : `${plural(fresh, 'entry', 'entries')} stored in ${source}, ${before} already stored`
  if (rejected === 0) return `${stored}.`
  const more = rejected > maxShownRejections ? ` (the first ${maxShownRejections} are shown)` : ''
  return `${stored}, ${plural(rejected, 'entry', 'entries')} rejected${more}.`
}
