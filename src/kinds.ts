import { byReferences, type KindForm } from './core/definitions/kind.ts'
import { endpoints } from './core/endpoints/manage/endpoint-kind.ts'
import { features } from './features.ts'

const kindsOfFeatures = await Promise.all(features.map(({ kinds }) => kinds?.() ?? []))

/** Every kind of definitions, in the order of references: a kind refers to those before it. */
export const kinds: readonly KindForm[] = byReferences([endpoints, ...kindsOfFeatures.flat()])
