/** Keeps gateways from starting on a data folder while a command replaces or moves its store. */
import { takeInstanceLock } from '../../processes/primary/instance-lock.ts'
import type { Terminal } from '../command.ts'
import { EXIT } from '../kit.ts'

/** Calls `run` with the lock of the data folder. Prints why if a gateway has it. */
export const withInstanceLock = async (
  data: string,
  terminal: Pick<Terminal, 'printError'>,
  run: () => Promise<number>,
): Promise<number> => {
  const instance = await takeInstanceLock(data)
  if ('reason' in instance) {
    terminal.printError(instance.reason)
    return EXIT.runTime
  }
  try {
    return await run()
  } finally {
    instance.lock?.close()
  }
}
