import type { Command } from 'commander'
import { z } from 'zod'
import { collect, collectPair, instant, wholeNumber } from '../arguments.ts'
import type { CommandIo } from '../command-io.ts'
import { confirm } from '../confirm.ts'
import { addExamples } from '../help.ts'
import { type ListColumn, printFields, printList, shortTime } from '../output/print.ts'
import { addServiceAction, addServiceCommand } from '../service-command.ts'

interface CreateOptions {
  scope: string[]
  description?: string
  project?: string
  parameter?: Record<string, string>
  expires?: string
  requestsPerMinute?: number
}

const overlapSeconds = wholeNumber(0, 30 * 86_400)

const tokenResponse = z.looseObject({
  id: z.string(),
  description: z.string(),
  scopes: z.array(z.string()),
  project: z.string().nullable(),
  expires_at: z.string().nullable(),
  last_used_at: z.string().nullable(),
})
const newTokenResponse = tokenResponse.extend({ token: z.string() })

const columns: readonly ListColumn<z.output<typeof tokenResponse>>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'DESCRIPTION', of: ({ description }) => description || null },
  { title: 'SCOPES', of: ({ scopes }) => scopes.join(' ') },
  { title: 'PROJECT', of: ({ project }) => project },
  { title: 'EXPIRES', of: ({ expires_at }) => shortTime(expires_at) ?? 'never' },
  { title: 'LAST USED', of: ({ last_used_at }) => shortTime(last_used_at) ?? 'never' },
]

export function addTokenCommands(program: Command, io: CommandIo): void {
  const token = program.command('token').description('create, list, rotate and revoke access tokens')
  addExamples(
    token,
    'wellhead token create --scope query --project acme --description "Acme dashboards"',
    'wellhead token list',
  )
  addCreate(token, io)

  const list = addServiceCommand(token, 'list', 'list access tokens without their secrets')
  addServiceAction(list, io, {
    examples: ['wellhead token list', "wellhead token list --json | jq -r '.[].id'"],
    request: (client) => client.json('GET', '/api/access-tokens', z.array(tokenResponse)),
    print: (tokens) => printList(io, columns, tokens, 'No access tokens besides the admin token.'),
  })

  const rotate = addServiceCommand(token, 'rotate', 'replace the secret of an access token')
    .argument('<id>', 'token id')
    .option('--overlap <seconds>', 'how long the old secret keeps working (default: one day)', overlapSeconds)
  addServiceAction(rotate, io, {
    examples: ['wellhead token rotate 0b8f… --overlap 3600'],
    request: (client, id: string, { overlap }: { overlap?: number }) =>
      client.json('POST', `${pathOf(id)}/rotate`, newTokenResponse, { json: { overlap_seconds: overlap } }),
    print: (rotated) => printSecret(io, rotated),
  })

  const revoke = addServiceCommand(token, 'revoke', 'revoke an access token immediately')
    .argument('<id>', 'token id')
    .option('--yes', 'do not ask for confirmation')
  addServiceAction(revoke, io, {
    examples: ['wellhead token revoke 0b8f… --yes'],
    request: async (client, id: string, { yes }: { yes?: true }) => {
      const { description } = await client.json('GET', pathOf(id), tokenResponse)
      const name = description === '' ? id : `${id} (${description})`
      await confirm(io, `The token ${name} will stop working immediately.`, yes)
      await client.request('DELETE', pathOf(id))
      await io.stderr.write(`Revoked ${id}.\n`)
    },
  })
}

function addCreate(token: Command, io: CommandIo): void {
  const create = addServiceCommand(token, 'create', 'create an access token; its secret is shown only once')
    .requiredOption(
      '--scope <scope>',
      'admin, query, query:<endpoint>, ingest or ingest:<source>; repeatable',
      collect,
    )
    .option('--description <text>', 'purpose of the token')
    .option('--project <project>', 'limit the token to this project')
    .option('--parameter <name=value>', 'set a parameter of every request; repeatable', collectPair)
    .option(
      '--expires <time>',
      'lifetime such as 30d or 12h, or a time in ISO 8601 (default: never)',
      instant(io.clock.now),
    )
    .option('--requests-per-minute <n>', 'rate limit (default: none)', wholeNumber(1, 1_000_000))
  addServiceAction(create, io, {
    examples: [
      'wellhead token create --scope query --project acme --parameter project_tier=PRO --expires 90d',
      'wellhead token create --scope ingest:edge_logs --requests-per-minute 600',
      'export WELLHEAD_TOKEN=$(wellhead token create --scope admin --expires 1h)',
    ],
    request: (client, options: CreateOptions) => {
      const json = {
        scopes: options.scope,
        description: options.description,
        project: options.project,
        parameters: options.parameter,
        expires_at: options.expires,
        requests_per_minute: options.requestsPerMinute,
      }
      return client.json('POST', '/api/access-tokens', newTokenResponse, { json })
    },
    print: (created) => printSecret(io, created),
  })
}

/** Prints only the secret to standard output, so that scripts can capture it. */
async function printSecret(io: CommandIo, created: z.output<typeof newTokenResponse>): Promise<void> {
  await printFields(io.stderr, [
    ['id', created.id],
    ['scopes', created.scopes.join(' ')],
    ['project', created.project],
    ['expires', created.expires_at ?? 'never'],
  ])
  await io.stderr.write('The secret is shown only once:\n')
  await io.stdout.write(`${created.token}\n`)
}

function pathOf(id: string): string {
  return `/api/access-tokens/${encodeURIComponent(id)}`
}
