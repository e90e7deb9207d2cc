import type { Command } from 'commander'
import { wholeNumber } from '../arguments.ts'
import { CommandFailure, usageFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { addExamples } from '../help.ts'
import { findInputs } from '../logs/log-input.ts'
import { batchBounds, type SentInputs, sendInputs, summary } from '../logs/send-inputs.ts'
import { printJson } from '../output/print.ts'
import { addServiceAction, addServiceCommand } from '../service-command.ts'
import { addLogsSearchCommand } from './logs-search-command.ts'
import { addLogsTailCommand } from './logs-tail-command.ts'

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
    request: async (client, files: string[], options: SentInputs & { json?: true }) => {
      if (files.length === 0 && io.stdinIsTerminal) {
        throw usageFailure('There is nothing to send. Name files, or pipe entries to standard input.')
      }
      const inputs = await findInputs(files.length === 0 ? ['-'] : files, io)
      // A missing token fails before the input is read.
      client.find()
      const tally = await sendInputs(inputs, options, client, io)
      if (options.json) await printJson(io, tally)
      const isRepeated = tally.already_stored > 0 && tally.already_stored === tally.accepted
      const hint = isRepeated ? ' Use --again to store the same entries twice.' : ''
      await io.stderr.write(`${summary(tally)}${hint}\n`)
      if (tally.rejected > 0) throw new CommandFailure('')
    },
  })
  addLogsSearchCommand(logs, io)
  addLogsTailCommand(logs, io)
}
