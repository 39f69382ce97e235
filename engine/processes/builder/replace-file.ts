/** Replaces the text of a file: readers see the old text or the new one, also after a crash. */
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'

/** False, and nothing is changed, unless the file has the text `before`. Follows links, and keeps
 *  the mode of the file. */
export const replaceFile = (path: string, text: string, before: string): boolean => {
  const real = realpathSync(path)
  if (readFileSync(real, 'utf8') !== before) return false
  const draft = `${real}.${process.pid}.draft`
  const file = openSync(draft, 'wx')
  try {
    fchmodSync(file, statSync(real).mode)
    writeSync(file, text)
    fsyncSync(file)
    closeSync(file)
    renameSync(draft, real)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
  return true
}
