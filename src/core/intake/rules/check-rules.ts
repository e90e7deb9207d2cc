import { invalidParameter } from '../../base/errors.ts'
import { isWrittenByService } from '../../catalog/reserved-sources.ts'
import type { NewSource } from '../../catalog/source.ts'
import { Rules } from './rules.ts'

/** Throws 400 if rules cannot be applied. */
export function checkRules({ name, rules, columns }: Pick<NewSource, 'name' | 'rules' | 'columns'>): void {
  if (rules.length > 0 && isWrittenByService(name)) {
    throw invalidParameter('rules', `The source ${name} cannot have rules: the service itself writes to it.`)
  }
  new Rules(rules, () => columns)
}
