import type { Command } from 'commander'
import { z } from 'zod'
import { collect, collectPair, instant, wholeNumber } from '../arguments.ts'
import type { CommandIo } from '../command-io.ts'
import { confirm } from '../confirm.ts'
import type { ServiceChoice } from '../find-service.ts'
import { addExamples } from '../help.ts'
import { type ListColumn, printFields, printJson, printList, shortTime } from '../output/print.ts'
import { type NewTokenAnswer, newTokenAnswer, type TokenAnswer, tokenAnswer } from '../service-answers.ts'
import { addServiceOptions, connect } from '../service-client.ts'

interface CreateOptions extends ServiceChoice {
  scope: string[]
  description?: string
  project?: string
  parameter?: Record<string, string>
  expires?: string
  requestsPerMinute?: number
  json?: true
}

const maxOverlapSeconds = 30 * 86_400

const columns: readonly ListColumn<TokenAnswer>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'DESCRIPTION', of: ({ description }) => description || null },
  { title: 'SCOPES', of: ({ scopes }) => scopes.join(' ') },
  { title: 'PROJECT', of: ({ project }) => project },
  { title: 'EXPIRES', of: ({ expires_at }) => shortTime(expires_at) ?? 'never' },
  { title: 'LAST USED', of: ({ last_used_at }) => shortTime(last_used_at) ?? 'never' },
]

export function addTokenCommands(program: Command, io: CommandIo): void {
  const token = program.command('token').description('make, list, rotate and revoke access tokens')
  addExamples(
    token,
    'wellhead token create --scope query --project acme --description "dashboards of Acme"',
    'wellhead token list',
  )
  addCreate(token, io)

  const list = addServiceOptions(token.command('list').description('list access tokens, never their secrets'))
  list.option('--json', 'as JSON').action(async (options: ServiceChoice & { json?: true }) => {
    const tokens = await connect(options, io).json('GET', '/api/access-tokens', z.array(tokenAnswer))
    if (options.json) return printJson(io, tokens)
    return printList(io, columns, tokens, 'There are no access tokens but the admin token.')
  })
  addExamples(list, 'wellhead token list', "wellhead token list --json | jq -r '.[].id'")

  const rotate = addServiceOptions(
    token
      .command('rotate')
      .description('give an access token a new secret; the old one works on for a while'),
  )
  rotate
    .argument('<id>', 'id of the token')
    .option(
      '--overlap <seconds>',
      'so long the old secret works on (default: a day)',
      wholeNumber(0, maxOverlapSeconds),
    )
    .option('--json', 'as JSON')
    .action(async (id: string, options: ServiceChoice & { overlap?: number; json?: true }) => {
      const json = options.overlap === undefined ? {} : { overlap_seconds: options.overlap }
      const path = `/api/access-tokens/${encodeURIComponent(id)}/rotate`
      const made = await connect(options, io).json('POST', path, newTokenAnswer, { json })
      return printSecret(io, made, options.json)
    })
  addExamples(rotate, 'wellhead token rotate 0b8f… --overlap 3600')

  const revoke = addServiceOptions(token.command('revoke').description('revoke an access token, at once'))
  revoke
    .argument('<id>', 'id of the token')
    .option('--yes', 'do not ask')
    .action(async (id: string, options: ServiceChoice & { yes?: true }) => {
      const client = connect(options, io)
      const path = `/api/access-tokens/${encodeURIComponent(id)}`
      const { description } = await client.json('GET', path, tokenAnswer)
      const name = description === '' ? id : `${id} (${description})`
      await confirm(io, `Callers with the token ${name} are refused from now on.`, options.yes)
      await client.request('DELETE', path)
      await io.stderr.write(`Revoked ${id}.\n`)
    })
  addExamples(revoke, 'wellhead token revoke 0b8f… --yes')
}

function addCreate(token: Command, io: CommandIo): void {
  const create = addServiceOptions(
    token.command('create').description('make an access token; its secret is shown this once'),
  )
  create
    .requiredOption(
      '--scope <scope>',
      'admin, query, query:<endpoint>, ingest or ingest:<source>; may be given several times',
      collect,
    )
    .option('--description <text>', 'what it is for')
    .option('--project <project>', 'the only project that it sees and sends')
    .option('--parameter <name=value>', 'fixes a parameter; may be given several times', collectPair)
    .option(
      '--expires <time>',
      'from now on, as 30d or 12h, or in ISO 8601 (default: never)',
      instant(io.clock.now),
    )
    .option('--requests-per-minute <n>', 'limit of requests (default: none)', wholeNumber(1, 1_000_000))
    .option('--json', 'as JSON, with everything that is known of it')
    .action(async (options: CreateOptions) => {
      const json = {
        scopes: options.scope,
        description: options.description,
        project: options.project,
        parameters: options.parameter,
        expires_at: options.expires,
        requests_per_minute: options.requestsPerMinute,
      }
      const made = await connect(options, io).json('POST', '/api/access-tokens', newTokenAnswer, {
        json,
      })
      return printSecret(io, made, options.json)
    })
  addExamples(
    create,
    'wellhead token create --scope query --project acme --parameter project_tier=PRO --expires 90d',
    'wellhead token create --scope ingest:edge_logs --requests-per-minute 600',
    'export WELLHEAD_TOKEN=$(wellhead token create --scope admin --expires 1h)',
  )
}

/** The secret alone goes to standard output, where a script takes it from. */
async function printSecret(io: CommandIo, made: NewTokenAnswer, json: true | undefined): Promise<void> {
  if (json) return printJson(io, made)
  await printFields(io.stderr, [
    ['id', made.id],
    ['scopes', made.scopes.join(' ')],
    ['project', made.project],
    ['expires', made.expires_at ?? 'never'],
  ])
  await io.stderr.write('The secret is shown this once:\n')
  await io.stdout.write(`${made.token}\n`)
}
