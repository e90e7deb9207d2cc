import { z } from 'zod'
import { keysOf, pathOf } from '../shared/path-text.ts'

const pathWith = (key: RegExp) =>
  z
    .string()
    .max(500)
    .overwrite((path) => pathOf(keysOf(path)))
    .refine(
      (path) => keysOf(path).every((each) => key.test(each)),
      'must be keys with dots between them, such as request.path. A key that has dots itself is in quotes, as in attributes."http.route"',
    )

/** A path of `metadata`, in the form in which paths are stored. */
export const metadataPath = pathWith(/^[\p{L}\p{N}_@$][\p{L}\p{N}_.:@$/-]{0,199}$/u)

/** One that no SQL contains. */
export const anyPath = pathWith(/./s)

/** Where a path may begin with `metadata.`, and does not mean a field of the entry itself. */
export const ownFields = /^metadata\.(?!(?:project|id|event_message|message|timestamp)$)/
