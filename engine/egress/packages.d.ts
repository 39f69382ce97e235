/** The members of nodemailer that are used: its own types come from 60 files and contain `any`. */
declare module 'nodemailer' {
  import type { Socket } from 'node:net'
  import type { Mail } from '../plugin.ts'

  export function createTransport(options: {
    host: string
    port: number
    connection: Socket
    secure: boolean
    requireTLS: boolean
    ignoreTLS: boolean
    tls?: { ca: string }
    auth?: { user: string; pass: string }
    connectionTimeout: number
    greetingTimeout: number
    socketTimeout: number
    disableFileAccess: boolean
    disableUrlAccess: boolean
  }): { sendMail(mail: Mail): Promise<{ readonly response: string }> }
}
