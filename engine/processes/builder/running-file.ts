/** The name of the plugin file whose code the builder runs, in a file without a name that the
 *  primary opens and the builder inherits: the primary reads it if the builder hangs or ends. A
 *  build runs thousands of setups, and a message for each would wake the primary. */
import { openSync, readSync, rmSync, writeSync } from 'node:fs'
import { devNull, tmpdir } from 'node:os'
import { join } from 'node:path'

/** The descriptor in the builder process. */
export const RUNNING_FILE_FD = 4
/** Bytes before the name: the number of the step, and the length of the name. */
const HEAD = 8
const MAX_NAME = 4096

export interface Step {
  /** Grows with each step. */
  readonly count: number
  /** Empty before code of plugins runs. */
  readonly file: string
}
export const openRunningFile = (): number => {
  const path = join(tmpdir(), `tollgate-builder-${process.pid}-${performance.now()}`)
  try {
    const fd = openSync(path, 'wx+', 0o600)
    rmSync(path)
    return fd
  } catch {
    // Without a folder for temporary files, problems name the configuration instead.
    return openSync(devNull, 'r+')
  }
}
export const readStep = (fd: number): Step => {
  const bytes = Buffer.alloc(HEAD + MAX_NAME)
  if (readSync(fd, bytes, 0, bytes.length, 0) < HEAD) return { count: 0, file: '' }
  const [count, length] = [bytes.readUInt32LE(0), bytes.readUInt32LE(4)]
  return { count, file: bytes.toString('utf8', HEAD, HEAD + length) }
}
/** Forgets the step of the last build. */
export const clearStep = (fd: number): void => {
  writeSync(fd, Buffer.alloc(HEAD), 0, HEAD, 0)
}
/** Returns the function that records each step. */
export const stepWriter = (fd: number): ((file: string) => void) => {
  const records = new Map<string, Buffer>()
  let count = 0
  return file => {
    const record = records.get(file) ?? recordOf(file)
    records.set(file, record)
    record.writeUInt32LE(++count, 0)
    writeSync(fd, record, 0, record.length, 0)
  }
}
const recordOf = (file: string): Buffer => {
  const name = Buffer.from(file).subarray(0, MAX_NAME)
  const head = Buffer.alloc(HEAD)
  head.writeUInt32LE(name.length, 4)
  return Buffer.concat([head, name])
}
