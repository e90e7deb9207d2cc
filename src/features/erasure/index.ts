/** What other features use of erasure. */

export { type Erasure, erasureShape } from './erasure.ts'
export { erasuresIn, readErasureFiles } from './erasure-file.ts'
export { type Erasures, maxListed } from './erasures.ts'
