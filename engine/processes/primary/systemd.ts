/** Tells systemd that the gateway serves (Type=notify). Node has no sockets for datagrams on the
 *  local machine, so the program `systemd-notify` sends the message. */
import { execFile } from 'node:child_process'

export const notifyReady = (): void => {
  // Outside of systemd the program may be missing: nothing waits for the message then.
  if (process.env.NOTIFY_SOCKET)
    execFile('systemd-notify', [`MAINPID=${process.pid}`, 'READY=1'], () => {})
}
