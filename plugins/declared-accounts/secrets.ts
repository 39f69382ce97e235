/** Stores the secrets of new keys and the sign-in links of new members: in a file that only its
 *  owner can read, or by a command. Each is one line of JSON. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { UsageError } from '../../engine/cli/kit.ts'

export interface Secrets {
  /** Rejects if the secret is not stored. */
  write(secret: object): Promise<void>
  close(): void
}

/** Throws a UsageError for a file that others can read, or that cannot be written. */
export const fileForSecrets = (path: string): Secrets => {
  let file: number
  try {
    file = openSync(path, 'a', 0o600)
  } catch (error) {
    throw new UsageError(`--secrets ${path}: ${(error as Error).message}`)
  }
  if ((fstatSync(file).mode & 0o077) !== 0) {
    closeSync(file)
    throw new UsageError(`--secrets ${path}: other users can read the file; run chmod 600 on it`)
  }
  return {
    async write(secret) {
      writeSync(file, `${JSON.stringify(secret)}\n`)
      fsyncSync(file)
    },
    close: () => closeSync(file),
  }
}

/** Runs the command once for each secret, which is its standard input. */
export const commandForSecrets = (command: string): Secrets => ({
  async write(secret) {
    const child = spawn(command, { shell: true, stdio: ['pipe', 'ignore', 'inherit'] })
    // A command that ends without reading says so by its exit code.
    child.stdin.on('error', () => {})
    child.stdin.end(`${JSON.stringify(secret)}\n`)
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`the command of --secrets-command ended with ${code}`)
  },
  close() {},
})
