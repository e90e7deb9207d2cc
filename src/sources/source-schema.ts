/** The shapes of a source, for whoever describes them outward. */
export { newSourceShape, type Source, sourceChangeShape, sourceShape } from '../catalog/source.ts'
