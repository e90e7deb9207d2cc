/** Values are counted by as many characters, and no more of them are returned. */
export const countedLength = 500

/** What stands for the values beyond the most frequent ones. */
export const otherValues = '…'
