/** The Unix socket of the admin listener in the data folder: only the user of the gateway and root
 *  can connect, so its callers need no credential. */
import { lstatSync, rmSync, statSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import type { Server } from 'node:net'
import { dirname, join } from 'node:path'
import { makeSocketFolder, socketOf } from '../store/address.ts'

/** Path of the socket: in the data folder, unless that path is too long for a socket. */
export const adminSocketOf = (data: string): string => socketOf(join(data, 'admin'))

/** Lets the server listen on the socket of a data folder, which no other gateway uses: a socket
 *  that a killed gateway left is removed. Resolves to its path. Rejects with the reason. */
export const listenOnSocket = async (server: Server, data: string): Promise<string> => {
  const path = adminSocketOf(data)
  const folder = dirname(path)
  if (folder !== data) makeSocketFolder(path)
  const fault = folderFault(folder)
  if (fault !== undefined) throw new Error(`${fault}: ${folder}`)
  const stale = lstatSync(path, { throwIfNoEntry: false })
  if (stale && !stale.isSocket()) throw new Error(`another file has its name: ${path}`)
  rmSync(path, { force: true })
  await listen(server, path)
  return path
}
/** Why a folder cannot hold the socket: other users could put their own in its place. */
const folderFault = (folder: string): string | undefined => {
  const { mode, gid } = statSync(folder)
  if ((mode & 0o002) !== 0) return 'every user of this machine may write to its folder'
  const isOfOtherGroup = gid !== process.getegid?.() && !process.getgroups?.().includes(gid)
  const isOpen = (mode & 0o020) !== 0 && isOfOtherGroup
  return isOpen ? 'users of another group may write to its folder' : undefined
}
const listen = (server: Server, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    // `listen` binds at once: the socket has its mode from the first instant.
    const mask = process.umask(0o177)
    try {
      server.listen({ path }, () => {
        server.off('error', reject)
        resolve()
      })
    } finally {
      process.umask(mask)
    }
  })

export interface SocketRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}
/** Sends a request over the socket. Rejects with the error of the system if nothing listens, or
 *  if this user may not connect. */
export const requestOverSocket = async (
  socketPath: string,
  path: string,
  { method = 'GET', headers = {}, body }: SocketRequest = {},
): Promise<Response> => {
  // A named import would load all of `node:http` (engine/request/node-http.ts).
  const { request } = process.getBuiltinModule('node:http')
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ socketPath, method, path, headers, agent: false }, resolve)
      .once('error', reject)
      .end(body)
  })
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part as Buffer)
  const type = incoming.headers['content-type'] ?? ''
  return new Response(Buffer.concat(parts), {
    status: incoming.statusCode ?? 500,
    headers: { 'content-type': type },
  })
}
