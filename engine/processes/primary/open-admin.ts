/** Opens the admin listener of a gateway: its port and its socket in the data folder. */
import type { ProcessLog } from '../../observe/log.ts'
import { makeFolder } from '../../store/make-folder.ts'
import { type AdminOptions, listenAdmin, listenAdminSocket } from '../admin-listener.ts'
import { describeBindError, localUrl, parseListenAddress } from '../listen-address.ts'

export interface OpenAdmin {
  /** For programs on this machine. */
  readonly url: string
  /** Path of the socket; undefined if there is none. */
  readonly socket: string | undefined
  close(): Promise<void>
}
export interface OpenAdminOptions {
  /** `settings.admin` */
  readonly address: string
  /** The data folder, absolute. */
  readonly data: string
  readonly endpoints: Omit<AdminOptions, 'host'>
  readonly log: ProcessLog
  /** Prints to stderr. */
  say(text: string): void
}
const DEFAULT_ADDRESS = '127.0.0.1:9090'

/** Resolves to undefined, and prints the reason, if the port cannot be opened. */
export const openAdmin = async (options: OpenAdminOptions): Promise<OpenAdmin | undefined> => {
  const { host, port } = parseListenAddress(options.address)
  const listen = (port: number) => listenAdmin({ ...options.endpoints, host, port })
  const listener = await listen(port).catch((error: NodeJS.ErrnoException) => {
    options.say(describeBindError(options.address, error, 'admin'))
    // Only the default port may be replaced by a free one; a configured port is not changed.
    return options.address === DEFAULT_ADDRESS ? listen(0) : undefined
  })
  if (!listener) return undefined
  const socket = await openSocket(options, { ...options.endpoints, host })
  return {
    url: localUrl(host, listener.address.port),
    socket: socket?.path,
    close: async () => {
      await listener.close()
      await socket?.close()
    },
  }
}

/** Without the socket, commands need the credential of an operator. */
const openSocket = async ({ data, log }: OpenAdminOptions, options: AdminOptions) => {
  try {
    makeFolder(data)
    return await listenAdminSocket(options, data)
  } catch (error) {
    log.warn(
      { error },
      'the admin listener has no socket in the data folder: reload, rollback and status need the credential of an operator',
    )
    return undefined
  }
}
