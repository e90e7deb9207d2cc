import type { Command } from 'commander'
import type { TokenView } from '../../core/access/token-admin.ts'
import { scopeList } from '../../shared/scopes.ts'
import {
  addExamples,
  addServiceAction,
  addServiceCommand,
  collect,
  collectPair,
  durationSeconds,
  instant,
  wholeNumber,
} from '../kit/command.ts'
import { type CommandIo, confirm, usageFailure } from '../kit/command-io.ts'
import { type ListColumn, printFields, printList } from '../kit/output/print.ts'
import { apiPath, type ServiceClient } from '../kit/service-client.ts'

interface TokenOptions {
  scope?: string[]
  description?: string
  /** False: no project. */
  project?: string | false
  parameter?: Record<string, string>
  removeParameter?: string[]
  expires?: string
  requestsPerMinute?: number | 'none'
}

const ratePerMinute = wholeNumber(1, 1_000_000)
const scopeHelp = `${scopeList}; repeatable`

type NewToken = TokenView & { token: string }

const columns: readonly ListColumn<TokenView>[] = [
  'id',
  'description',
  'scopes',
  'project',
  'expires_at',
  'last_used_at',
  { title: 'CREATED BY', of: ({ created_by, created_by_name }) => created_by_name ?? created_by },
]

export function defineToken(token: Command, io: CommandIo): void {
  addExamples(
    token,
    'wellhead token create --scope query --project acme --description "Acme dashboards"',
    'wellhead token list',
  )
  addCreate(token, io)

  addServiceAction(addServiceCommand(token, 'list', 'list access tokens without their secrets'), io, {
    examples: ['wellhead token list', "wellhead token list --json | jq -r '.[].id'"],
    request: (client) => client.json<TokenView[]>('GET', '/api/access-tokens'),
    print: (tokens) => printList(io, columns, tokens, 'No access tokens besides the admin token.'),
  })

  addUpdate(token, io)

  const rotate = addServiceCommand(token, 'rotate', 'replace the secret of an access token')
    .argument('<id>', 'token id')
    .option(
      '--overlap <duration>',
      'how long the old secret keeps working, such as 12h (default: 1d)',
      durationSeconds(0, 30 * 86_400),
    )
  addServiceAction(rotate, io, {
    examples: ['wellhead token rotate 0b8f… --overlap 1h'],
    request: (client, id: string, { overlap }: { overlap?: number }) =>
      client.json<NewToken>('POST', apiPath('access-tokens', id, 'rotate'), {
        json: { overlap_seconds: overlap },
      }),
    print: (rotated) => printSecret(io, rotated),
  })

  const revoke = addServiceCommand(token, 'revoke', 'revoke an access token immediately')
    .argument('<id>', 'token id')
    .option('--yes', 'do not ask for confirmation')
  addServiceAction(revoke, io, {
    examples: ['wellhead token revoke 0b8f… --yes'],
    request: async (client, id: string, { yes }: { yes?: true }) => {
      const { description } = await client.json<TokenView>('GET', apiPath('access-tokens', id))
      const name = description === '' ? id : `${id} (${description})`
      await confirm(io, `The token ${name} will stop working immediately.`, yes)
      await client.request('DELETE', apiPath('access-tokens', id))
      await io.stderr.write(`Revoked ${id}.\n`)
    },
  })
}

function addFields(command: Command, io: CommandIo): Command {
  const expiry = instant(io.clock.now, 'future')
  return command
    .option('--project <project>', 'only entries of this project')
    .option('--parameter <name=value>', 'set a parameter of every request; repeatable', collectPair)
    .option('--requests-per-minute <n>', 'rate limit, or none', (value) =>
      value === 'none' ? value : ratePerMinute(value),
    )
    .option('--description <text>', 'purpose of the token')
    .option(
      '--expires <time>',
      'lifetime from now such as 30d or 12h, a time in ISO 8601, or never',
      (value) => (value === 'never' ? value : expiry(value)),
    )
}

/** The body of a request; fields that are undefined are not sent. */
function bodyOf(options: TokenOptions) {
  return {
    scopes: options.scope,
    description: options.description,
    project: options.project === false ? null : options.project,
    parameters: options.parameter,
    expires_at: options.expires === 'never' ? null : options.expires,
    requests_per_minute: options.requestsPerMinute === 'none' ? null : options.requestsPerMinute,
  }
}

function addCreate(token: Command, io: CommandIo): void {
  const create = addServiceCommand(token, 'create', 'create an access token; its secret is shown only once')
  addFields(create.requiredOption('--scope <scope>', scopeHelp, collect), io)
  addServiceAction(create, io, {
    examples: [
      'wellhead token create --scope query --project acme --parameter project_tier=PRO --expires 90d',
      'wellhead token create --scope ingest:edge_logs --requests-per-minute 600',
      'export WELLHEAD_TOKEN=$(wellhead token create --scope admin --expires 1h)',
    ],
    request: (client, options: TokenOptions) =>
      client.json<NewToken>('POST', '/api/access-tokens', { json: bodyOf(options) }),
    print: (created) => printSecret(io, created),
  })
}

function addUpdate(token: Command, io: CommandIo): void {
  const update = addServiceCommand(token, 'update', 'change an access token; its secret stays the same')
    .argument('<id>', 'token id')
    .option('--scope <scope>', `replaces all scopes: ${scopeHelp}`, collect)
    .option('--remove-parameter <name>', 'stop setting this parameter; repeatable', collect)
  // Declared after --project, because it would set a default otherwise.
  addFields(update, io).option('--no-project', 'remove the limit to a project')
  addServiceAction(update, io, {
    examples: [
      'wellhead token update 0b8f… --expires 90d --requests-per-minute 600',
      'wellhead token update 0b8f… --scope query:logs.all --no-project',
    ],
    request: async (client, id: string, options: TokenOptions) => {
      const json = { ...bodyOf(options), parameters: await changedParameters(client, id, options) }
      if (Object.values(json).every((value) => value === undefined)) {
        throw usageFailure('There is nothing to change. See "wellhead help token update" for the flags.')
      }
      return client.json<TokenView>('PATCH', apiPath('access-tokens', id), { json })
    },
    print: (updated) => printFields(io.stdout, Object.entries(updated)),
  })
}

/** The API replaces all parameters together. */
async function changedParameters(
  client: ServiceClient,
  id: string,
  { parameter: added = {}, removeParameter: removed = [] }: TokenOptions,
): Promise<Record<string, string> | undefined> {
  if (Object.keys(added).length === 0 && removed.length === 0) return undefined
  const { parameters: current } = await client.json<TokenView>('GET', apiPath('access-tokens', id))
  const unknown = removed.filter((name) => !Object.hasOwn(current, name))
  if (unknown.length > 0) throw usageFailure(`The token does not set the parameter ${unknown.join(', ')}.`)
  const kept = Object.entries(current).filter(([name]) => !removed.includes(name))
  return Object.fromEntries([...kept, ...Object.entries(added)])
}

/** Prints only the secret to standard output, so that scripts can capture it. */
async function printSecret(io: CommandIo, { token, ...fields }: { token: string }): Promise<void> {
  await printFields(io.stderr, Object.entries(fields))
  await io.stderr.write('The secret is shown only once:\n')
  await io.stdout.write(`${token}\n`)
}
