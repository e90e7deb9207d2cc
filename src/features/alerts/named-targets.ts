import { z } from 'zod'
import { readYamlFile } from '../../core/base/files/file-problem.ts'
import { closestName, didYouMean } from '../../core/base/text/closest-name.ts'
import { fieldProblems } from '../../core/base/validation.ts'
import type { NamedValues } from '../../core/definitions/kind.ts'
import { type Address, addressOf, addressShape, alertShape, notifyOf, targetKey } from './alert.ts'

type Targets = ReadonlyMap<string, Address>

type Reference = z.output<typeof referenceShape>

const nameShape = alertShape.shape.name
const targetsShape = z.record(nameShape, addressShape)
const referenceShape = z.strictObject({ target: nameShape })

/** In a file, a target is an address or the name of one. */
const fileTarget = z.unknown().transform((value, context) => {
  const isNamed = typeof value === 'object' && value !== null && 'target' in value
  const shape = isNamed ? referenceShape : addressShape
  const read = shape.safeParse(value)
  if (read.success) return read.data
  for (const { path, message } of fieldProblems(read.error, shape)) {
    context.addIssue({ code: 'custom', path: [...path], message })
  }
  return z.NEVER
})

export const notifyInFiles = notifyOf(fileTarget)

/** Addresses that alerts of a workspace name, so that each service can have its own. */
export const namedTargets: NamedValues<Targets> = {
  noun: 'targets',
  variable: 'WELLHEAD_TARGETS',
  about: 'addresses of the targets that alerts name',
  read(file, content) {
    const reading = readYamlFile(
      file,
      content,
      targetsShape,
      'oncall: { type: email, to: oncall@example.com }',
    )
    return 'problems' in reading ? reading : { values: new Map(Object.entries(reading.value)) }
  },
  resolve(reading, targets, { file, valuesFile }) {
    const notify: Address[] = []
    /** Of each address, its index in the file. */
    const places: number[] = []
    for (const [place, target] of (reading.fields.notify as (Address | Reference)[]).entries()) {
      const address = 'target' in target ? targets?.get(target.target) : target
      if (!address) {
        const { target: name } = target as Reference
        const hint = didYouMean(closestName(name, targets?.keys() ?? []))
        const message = targets
          ? `${valuesFile} has no target "${name}".${hint}`
          : `There is no ${valuesFile}. Create it, with the target "${name}".`
        const found = { code: 'invalid_parameter', message, parameter: `notify.${place}.target` }
        return { problems: [{ file, ...reading.positionOf(found), message }] }
      }
      // Two names can be one address on a service.
      const isThere = 'target' in target && notify.some((other) => targetKey(other) === targetKey(address))
      if (isThere) continue
      notify.push(address)
      places.push(place)
    }
    return {
      ...reading,
      fields: { ...reading.fields, notify },
      positionOf: (finding) => {
        const parameter = finding.parameter?.replace(/^notify\.(\d+)/, (_, at) => `notify.${places[at]}`)
        return reading.positionOf({ ...finding, parameter })
      },
    }
  },
  named(fields, targets) {
    const names = new Map([...targets].map(([name, address]) => [targetKey(address), name]))
    const notify = (fields.notify as Address[]).map((address) => {
      const target = names.get(targetKey(address))
      return target === undefined ? addressOf(address) : { target }
    })
    return { ...fields, notify }
  },
}
