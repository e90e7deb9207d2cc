import type { z } from 'zod'
import sources from './built-in-sources.json' with { type: 'json' }
import { isWrittenByService, reservedSources } from './reserved-sources.ts'
import { type NewSource, newSourceShape } from './source.ts'

/** A source that a feature writes to. */
export type SourceDeclaration = z.input<typeof newSourceShape>

/** The sources that exist from the first start. Their aliases are the names that existing senders use. */
export function withBuiltInSources(ofFeatures: readonly SourceDeclaration[]): NewSource[] {
  for (const { name } of ofFeatures) {
    if (!isWrittenByService(name))
      throw new Error(`The source ${name} of a feature must be in reserved-sources.json.`)
    if (ofFeatures.filter((other) => other.name === name).length > 1)
      throw new Error(`Two features have the source ${name}.`)
  }
  const inOrder = reservedSources.flatMap(({ name }) => ofFeatures.filter((source) => source.name === name))
  return [...sources, ...inOrder].map((source) => newSourceShape.parse(source))
}

/** Whether a source cannot be deleted. */
export function isBuiltIn(name: string): boolean {
  return sources.some((source) => source.name === name) || isWrittenByService(name)
}
