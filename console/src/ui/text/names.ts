import { endpointForm, sourceForm } from '../../../../src/shared/names.ts'

const source = {
  pattern: sourceForm,
  rule: 'Start with a lowercase letter. Then use lowercase letters, digits and "_", at most 64 characters in all.',
}
const rules = {
  endpoint: {
    pattern: endpointForm,
    rule: 'Start with a letter. Then use letters, digits, ".", "_" and "-", at most 128 characters in all.',
  },
  source,
  table: source,
}

/** Why a name cannot be used, while it is typed; empty if it can, or if there is none yet. */
export function nameProblem(
  kind: keyof typeof rules,
  name: string,
  taken: readonly { name: string }[] = [],
): string {
  const { pattern, rule } = rules[kind]
  if (name === '') return ''
  if (!pattern.test(name)) return rule
  const article = kind === 'endpoint' ? 'an' : 'a'
  return taken.some((one) => one.name === name) ? `There already is ${article} ${kind} named ${name}.` : ''
}
