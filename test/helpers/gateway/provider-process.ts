/** A provider that is a process of its own, for journeys. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'

export interface ProviderProcess {
  readonly url: string
  readonly port: number
  kill(): void
}
/** Runs `source`, which prints its port; `args` are its `process.argv.slice(1)`. */
export const startProviderProcess = async (
  t: Test,
  source: string,
  args: readonly (string | number)[] = [],
): Promise<ProviderProcess> => {
  const child = spawn(process.execPath, ['-e', source, ...args.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill())
  for await (const line of createInterface(child.stdout))
    return { url: `http://127.0.0.1:${line}`, port: Number(line), kill: () => void child.kill() }
  throw new Error('the provider did not start')
}
