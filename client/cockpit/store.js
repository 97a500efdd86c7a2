// SPDX-License-Identifier: LGPL-2.1-or-later
// The objects of the service, according to its latest replies and signals.
import {plain} from "./values.js";

export const PATH = "/dev/genv/Manager";
export const MANAGER = "dev.genv.Manager";
export const DEVICE = "dev.genv.Device";
export const ENVIRONMENT = "dev.genv.Environment";
export const PROPERTIES = "org.freedesktop.DBus.Properties";
export const OBJECTS = "org.freedesktop.DBus.ObjectManager";

const INTERFACES = new Set([MANAGER, DEVICE, ENVIRONMENT]);

export class Store {
    constructor() {
        /** @type {Map<string, {path: string, properties: Record<string, any>}>} */
        this.devices = new Map();
        /** @type {Map<string, {path: string, properties: Record<string, any>}>} */
        this.environments = new Map();
        /** @type {Record<string, any>} */
        this.manager = {};
    }

    /** @param {string} interfaceName */
    #mapOf(interfaceName) {
        return interfaceName === DEVICE ? this.devices : interfaceName === ENVIRONMENT ? this.environments : null;
    }

    /** Loads all objects at once, in the form in which GetManagedObjects returns them.
     * @param {Record<string, Record<string, Record<string, {t: string, v: any}>>>} managed */
    load(managed) {
        this.devices.clear();
        this.environments.clear();
        for (const [path, interfaces] of Object.entries(managed))
            this.#add(path, interfaces);
    }

    /** @param {Record<string, {t: string, v: any}>} properties */
    loadManager(properties) {
        this.manager = plain(properties);
    }

    /** @param {string} path @param {Record<string, Record<string, {t: string, v: any}>>} interfaces */
    #add(path, interfaces) {
        for (const [name, properties] of Object.entries(interfaces))
            this.#mapOf(name)?.set(path, {path, properties: plain(properties)});
    }

    /** Applies a signal, and returns whether it concerned these objects.
     * @param {string} path @param {string} interfaceName @param {string} member @param {any[]} args */
    apply(path, interfaceName, member, args) {
        if (interfaceName === PROPERTIES && member === "PropertiesChanged" && INTERFACES.has(args[0])) {
            const properties = args[0] === MANAGER ? this.manager : this.#mapOf(args[0])?.get(path)?.properties;
            if (properties)
                Object.assign(properties, plain(args[1]));
            return properties !== undefined;
        }
        if (interfaceName === OBJECTS && member === "InterfacesAdded") {
            this.#add(args[0], args[1]);
            return true;
        }
        if (interfaceName === OBJECTS && member === "InterfacesRemoved") {
            for (const name of args[1])
                this.#mapOf(name)?.delete(args[0]);
            return true;
        }
        return false;
    }
}
