import type { ParameterDeclaration } from './definition.ts'

export type ParameterValue = string | number | boolean

/** A declaration as people write it: its values have the parameter's own type. */
export type ShownParameter = Omit<ParameterDeclaration, 'default' | 'enum' | 'example'> & {
  default?: ParameterValue | undefined
  enum?: ParameterValue[] | undefined
  example?: ParameterValue | undefined
}

export function shownParameter(declaration: ParameterDeclaration): ShownParameter {
  const { type, default: preset, enum: allowed, example } = declaration
  return {
    ...declaration,
    ...(preset !== undefined && { default: shownValue(type, preset) }),
    ...(allowed !== undefined && { enum: allowed.map((text) => shownValue(type, text)) }),
    ...(example !== undefined && { example: shownValue(type, example) }),
  }
}

export function shownParameters(
  declared: Readonly<Record<string, ParameterDeclaration>>,
): Record<string, ShownParameter> {
  return Object.fromEntries(Object.entries(declared).map(([name, one]) => [name, shownParameter(one)]))
}

/** Text stays text where it would not read back the same: 1.10, or an integer that a double cannot hold. */
function shownValue(type: ParameterDeclaration['type'], text: string): ParameterValue {
  if (type === 'boolean') return text === 'true' || (text === 'false' ? false : text)
  if (type !== 'integer' && type !== 'number') return text
  const number = Number(text)
  return String(number) === text && (type === 'number' || Number.isSafeInteger(number)) ? number : text
}
