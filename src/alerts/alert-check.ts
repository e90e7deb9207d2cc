import { invalidParameter, unknownParameter } from '../base/errors.ts'
import { parameterNames } from '../endpoints/call/prepared-call.ts'
import type { Endpoint } from '../endpoints/definition/endpoint.ts'
import { type AlertFields, type Target, type TargetFields, targetKey } from './alert.ts'
import { type Condition, isNumberType, parseCondition } from './condition.ts'
import type { WebhookSecrets } from './delivery/secrets.ts'
import { type Lookup, RefusedTarget, readTargetUrl, resolveTarget } from './delivery/target-address.ts'

export interface CheckOptions {
  secrets: WebhookSecrets
  allowedHosts: readonly string[]
  lookup?: Lookup | undefined
}

/** Throws if the alert could not be evaluated. */
export function checkRule({ parameters, when }: AlertFields, endpoint: Endpoint): void {
  const known = parameterNames(endpoint)
  for (const name of Object.keys(parameters)) {
    if (!known.has(name))
      throw unknownParameter(name, known, ` ${endpoint.definition.name} does not have it.`)
  }
  endpoint.compiled.check(parameters)
  checkColumn(parseCondition(when) as Condition, endpoint)
}

/** Targets with their secrets, and the secrets that were created now, by the key of their target. */
export async function checkTargets(
  options: CheckOptions,
  sent: readonly TargetFields[],
  current: readonly Target[],
) {
  const created = new Map<string, string>()
  const notify: Target[] = []
  for (const [index, target] of sent.entries()) {
    if (notify.some((other) => targetKey(other) === targetKey(target))) {
      throw invalidParameter(`notify.${index}.url`, 'Each target can be in notify once.')
    }
    const saved = current.find((other) => targetKey(other) === targetKey(target))
    // A target that is saved already is checked again when something is sent.
    if (!saved) await checkTarget(options, target, index)
    notify.push(withSecret(options.secrets, target, index, saved, created))
  }
  return { notify, created }
}

function checkColumn({ subject }: Condition, { columns, definition }: Endpoint): void {
  if (subject.of === 'rows') return
  const column = columns.find(({ name }) => name === subject.column)
  if (!column) {
    const names = columns.map(({ name }) => name).join(', ')
    throw invalidParameter('when', `${definition.name} has no column "${subject.column}". It has ${names}.`)
  }
  if (!isNumberType(column.type)) {
    throw invalidParameter('when', `The column "${column.name}" is not a number but ${column.type}.`)
  }
}

async function checkTarget(
  { allowedHosts, lookup }: CheckOptions,
  { url }: TargetFields,
  index: number,
): Promise<void> {
  try {
    await resolveTarget(readTargetUrl(url), allowedHosts, lookup)
  } catch (error) {
    if (error instanceof RefusedTarget) throw invalidParameter(`notify.${index}.url`, error.message)
    throw error
  }
}

function withSecret(
  secrets: WebhookSecrets,
  target: TargetFields,
  index: number,
  saved: Target | undefined,
  created: Map<string, string>,
): Target {
  const { type, url } = target
  if (target.type === 'slack') return { type, url }
  const isNew = target.secret === 'new'
  if (saved?.secret && !isNew) {
    // Clients may send back what they got when the secret was created.
    if (target.secret === undefined || target.secret === secrets.read(saved.secret)) return saved
  }
  if (target.secret !== undefined && !isNew) {
    throw invalidParameter(
      `notify.${index}.secret`,
      'The service creates secrets. Send "new" to get a new one, or omit it.',
    )
  }
  const secret = secrets.create()
  created.set(targetKey(target), secrets.read(secret) as string)
  return { type, url, secret }
}
