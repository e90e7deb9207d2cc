import type { ParameterDeclaration } from './definition.ts'

const samples: Record<ParameterDeclaration['type'], string> = {
  string: '',
  regex: '',
  integer: '0',
  number: '0',
  boolean: 'true',
  timestamp: '2026-01-01T00:00:00Z',
}

/** Any values that fit, for looking at a query without a caller. */
export function sampleValues(
  declared: Readonly<Record<string, ParameterDeclaration>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(declared).map(([name, { example, enum: allowed, type }]) => [
      name,
      example ?? allowed?.[0] ?? samples[type],
    ]),
  )
}
