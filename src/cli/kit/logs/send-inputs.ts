import { setTimeout as delay } from 'node:timers/promises'
import { CommandFailure } from '../command-io.ts'
import { plural, visible } from '../output/format.ts'
import { Progress } from '../output/progress.ts'
import type { ServiceClient } from '../service-client.ts'
import { batchKeys, gatherBatches, type Rejection, sendBatch } from './log-batches.ts'
import { type LogInput, readEntries, readUnpacked } from './log-input.ts'

export const batchBounds = { maxBytes: 4 * 2 ** 20, maxEntries: 10_000 }
const maxShownRejections = 100
const maxKeptRejections = 1_000

export interface SentInputs {
  source: string
  batchEntries: number
  again?: true
}

interface Tally {
  source: string
  batches: number
  accepted: number
  /** How many of the accepted entries an earlier command had stored. */
  already_stored: number
  rejected: number
  /** Entries that rules of the source dropped. */
  dropped: number
  without_project: number
  errors: Rejection[]
}

export async function sendInputs(
  inputs: readonly LogInput[],
  { source, batchEntries, again }: SentInputs,
  client: ServiceClient,
): Promise<Tally> {
  const { io } = client
  const tally: Tally = {
    source,
    batches: 0,
    accepted: 0,
    already_stored: 0,
    rejected: 0,
    dropped: 0,
    without_project: 0,
    errors: [],
  }
  const hasSizes = inputs.every(({ bytes }) => bytes !== undefined)
  const progress = new Progress('Sending', io)
  if (hasSizes) progress.totalBytes = inputs.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0)
  const keyOf = batchKeys(source, again ? crypto.randomUUID() : '')
  const bounds = { ...batchBounds, maxEntries: batchEntries }
  const note = (text: string) => {
    progress.end()
    void io.stderr.write(`${text}\n`)
  }
  const reject = (rejection: Rejection) => {
    tally.rejected++
    if (tally.errors.length < maxKeptRejections) tally.errors.push(rejection)
    if (tally.rejected <= maxShownRejections)
      note(`${rejection.input}:${rejection.line}: ${visible(rejection.reason)}`)
  }
  try {
    for (const input of inputs) {
      const chunks = readUnpacked(input, io.signal, (bytes) => progress.add(bytes))
      for await (const piece of gatherBatches(readEntries(input.name, chunks), bounds)) {
        if ('rejection' in piece) {
          reject({ input: input.name, ...piece.rejection })
          continue
        }
        const { batch } = piece
        const sent = await sendBatch(batch, keyOf(batch), {
          client,
          source,
          wasReached: tally.batches > 0,
          pause: (ms) => delay(ms, undefined, { signal: io.signal }),
          onWait: ({ message }, ms) => note(`${message} Retrying in ${Math.ceil(ms / 1000)}s.`),
        })
        tally.batches++
        tally.accepted += sent.accepted
        tally.dropped += sent.dropped ?? 0
        tally.without_project += sent.withoutProject
        if (sent.repeated) tally.already_stored += sent.accepted
        for (const { index, reason } of sent.errors) {
          reject({ input: input.name, line: batch.lines[index] ?? 0, reason })
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

function entries(count: number): string {
  return plural(count, 'entry', 'entries')
}

export function summary({ accepted, already_stored, rejected, dropped, source }: Tally): string {
  const added = accepted - already_stored
  const before = plural(already_stored, 'entry was', 'entries were')
  const shown = rejected > maxShownRejections ? ` (showing the first ${maxShownRejections})` : ''
  const parts = [
    added > 0 || already_stored === 0 ? `${entries(added)} stored in ${source}` : '',
    already_stored === 0 ? '' : `${before} already stored${added === 0 ? ` in ${source}` : ''}`,
    dropped === 0 ? '' : `${entries(dropped)} dropped by rules`,
    rejected === 0 ? '' : `${entries(rejected)} rejected${shown}`,
  ]
  return `${parts.filter((part) => part !== '').join(', ')}.`
}

/** A line of its own, or nothing. */
export function projectWarning({ without_project, source }: Tally): string {
  if (without_project === 0) return ''
  return (
    `Warning: ${plural(without_project, 'entry has', 'entries have')} no project, so no tenant can see them. ` +
    `Send a field project, or name its path: wellhead source update ${source} --project customer.id\n`
  )
}
