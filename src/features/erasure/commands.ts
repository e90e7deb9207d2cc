import type { Command } from 'commander'
import { addServiceAction, addServiceOptions, instant } from '../../cli/kit/command.ts'
import type { CommandIo } from '../../cli/kit/command-io.ts'
import { plural } from '../../cli/kit/output/format.ts'
import { apiPath, type ServiceClient } from '../../cli/kit/service-client.ts'

interface EraseOptions {
  project: string
  source?: string
  from?: string
  to?: string
  id?: string[]
  dryRun?: boolean
  wait: boolean
}

interface ShownErasure {
  id: string | null
  project: string
  entries: number
  state: 'running' | 'done' | null
  backups_before: string | null
}

const pollEveryMs = 500

const help = `
Hides the entries from everyone at once, then removes them from the disk, from caches, live streams, the quarantine and
idempotency keys. The service continues an erasure after a crash, whether or not this command still runs. It cannot be undone.
`

export function defineErase(erase: Command, io: CommandIo): void {
  const time = instant(io.clock.now, 'past')
  addServiceOptions(erase)
    .requiredOption('--project <name>', 'project whose entries are erased')
    .option('--source <name>', 'only entries of this source')
    .option('--from <time>', 'only entries from this time on, such as 30d or 2026-01-31T12:00:00Z', time)
    .option('--to <time>', 'only entries before this time (default: all that are stored now)', time)
    .option('--id <id...>', 'only entries with these ids')
    .option('--dry-run', 'count the entries, and erase nothing')
    .option('--no-wait', 'do not wait until the erasure is done')
    .addHelpText('after', help)
  addServiceAction(erase, io, {
    examples: ['wellhead erase --project demo --dry-run', 'wellhead erase --project demo'],
    request: eraseEntries,
    print: async ({ id, project, entries, state, backups_before }) => {
      const amount = `${plural(entries, 'entry', 'entries')} of project ${project}`
      if (id === null) return void (await io.stdout.write(`${amount} would be erased.\n`))
      if (state === 'running') return void (await io.stdout.write(`Erasing ${amount}, as ${id}.\n`))
      await io.stdout.write(`Erased ${amount}. Backups from before ${backups_before} still contain them.\n`)
    },
  })
}

async function eraseEntries(
  client: ServiceClient,
  { id: ids, dryRun: dry_run = false, wait, project, source, from, to }: EraseOptions,
): Promise<ShownErasure> {
  // Fields that are undefined are not sent.
  const json = { project, source, from, to, ids, dry_run }
  let erasure = await client.json<ShownErasure>('POST', '/api/erasures', { json })
  while (wait && erasure.id !== null && erasure.state === 'running' && !client.io.signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, pollEveryMs))
    erasure = await client.json<ShownErasure>('GET', apiPath('erasures', erasure.id))
  }
  return erasure
}
