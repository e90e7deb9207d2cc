import {
  type EndpointDefinition,
  type ParameterDeclaration,
  parameterShape,
} from '../definition/definition.ts'
import type { ParameterTypeName } from '../definition/parameter-types.ts'
import { bindQuery } from '../definition/parameters.ts'
import { breaking, type ContractChange, compatible } from './contract-change.ts'

type Declarations = Readonly<Record<string, ParameterDeclaration>>

/** Types whose every value is also one of these. Text takes anything. */
const widerTypes: Record<ParameterTypeName, readonly ParameterTypeName[]> = {
  string: [],
  integer: ['number', 'string'],
  number: ['string'],
  boolean: ['string'],
  timestamp: ['string'],
  regex: ['string'],
}

/** What changes for callers in what they may send. */
export function parameterChanges(before: EndpointDefinition, after: EndpointDefinition): ContractChange[] {
  const [was, is] = [parametersOf(before), parametersOf(after)]
  const removed = Object.keys(was)
    .filter((parameter) => !Object.hasOwn(is, parameter))
    .map((parameter) =>
      breaking('parameter_removed', `The parameter ${parameter} is gone: what callers send is ignored.`, {
        parameter,
      }),
    )
  const others = Object.entries(is).flatMap(([parameter, now]) => {
    const then = Object.hasOwn(was, parameter) ? was[parameter] : undefined
    return then ? changesOf(parameter, then, now) : [added(parameter, now)]
  })
  return [...removed, ...others]
}

/** The declared ones, and those that only the SQL names: these are optional texts. */
function parametersOf({ query, parameters }: EndpointDefinition): Declarations {
  const { names } = bindQuery(query, parameters)
  const loose = names.filter((name) => !Object.hasOwn(parameters, name))
  return Object.fromEntries([
    ...Object.entries(parameters),
    ...loose.map((name) => [name, parameterShape.parse({})] as const),
  ])
}

function added(parameter: string, { required }: ParameterDeclaration): ContractChange {
  return required
    ? breaking('parameter_required', `The parameter ${parameter} is new and required.`, { parameter })
    : compatible('parameter_added', `The parameter ${parameter} is new, and may be left out.`, { parameter })
}

function changesOf(parameter: string, was: ParameterDeclaration, is: ParameterDeclaration): ContractChange[] {
  return [
    ...requiredChange(parameter, was, is),
    ...typeChange(parameter, was, is),
    ...valueChanges(parameter, was, is),
    ...emptyChange(parameter, was, is),
    ...(was.description !== is.description || was.example !== is.example
      ? [
          compatible(
            'parameter_description_changed',
            `The parameter ${parameter} is described in other words.`,
            {
              parameter,
            },
          ),
        ]
      : []),
  ]
}

function requiredChange(parameter: string, was: ParameterDeclaration, is: ParameterDeclaration) {
  const about = { parameter }
  if (!was.required && is.required) {
    return [breaking('parameter_required', `The parameter ${parameter} is now required.`, about)]
  }
  if (was.required && !is.required) {
    return [compatible('parameter_optional', `The parameter ${parameter} may now be left out.`, about)]
  }
  if (was.default === is.default) return []
  const message = `Left out, the parameter ${parameter} is now ${told(is.default)}, and was ${told(was.default)}.`
  return [breaking('parameter_default_changed', message, about)]
}

function told(value: string | undefined): string {
  return value === undefined ? 'null' : JSON.stringify(value)
}

function typeChange(parameter: string, was: ParameterDeclaration, is: ParameterDeclaration) {
  if (was.type === is.type) return []
  const message = `The type of the parameter ${parameter} is now ${is.type}, and was ${was.type}`
  return widerTypes[was.type].includes(is.type)
    ? [
        compatible('parameter_type_changed', `${message}: whatever was taken is still taken.`, {
          parameter,
        }),
      ]
    : [breaking('parameter_type_changed', `${message}: some values are no longer taken.`, { parameter })]
}

function valueChanges(parameter: string, was: ParameterDeclaration, is: ParameterDeclaration) {
  const about = { parameter }
  if (is.enum === undefined) {
    return was.enum === undefined
      ? []
      : [compatible('parameter_values_added', `The parameter ${parameter} now takes any value.`, about)]
  }
  if (was.enum === undefined) {
    const message = `The parameter ${parameter} now takes only ${is.enum.join(', ')}.`
    return [breaking('parameter_values_removed', message, about)]
  }
  const gone = was.enum.filter((value) => !is.enum?.includes(value))
  const fresh = is.enum.filter((value) => !was.enum?.includes(value))
  return [
    ...(gone.length > 0
      ? [
          breaking(
            'parameter_values_removed',
            `The parameter ${parameter} no longer takes ${gone.join(', ')}.`,
            about,
          ),
        ]
      : []),
    ...(fresh.length > 0
      ? [
          compatible(
            'parameter_values_added',
            `The parameter ${parameter} now also takes ${fresh.join(', ')}.`,
            about,
          ),
        ]
      : []),
  ]
}

function emptyChange(parameter: string, was: ParameterDeclaration, is: ParameterDeclaration) {
  if (was.empty_is_omitted === is.empty_is_omitted) return []
  const message = is.empty_is_omitted
    ? `Sent empty, the parameter ${parameter} now counts as left out.`
    : `Sent empty, the parameter ${parameter} is now the empty text, and no longer counts as left out.`
  return [breaking('parameter_empty_changed', message, { parameter })]
}
